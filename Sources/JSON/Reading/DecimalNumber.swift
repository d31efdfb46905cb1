/// A number as its digits: `mantissa` times 10 to the power of `exponent`.
@usableFromInline
struct DecimalNumber {
  var isNegative = false
  var mantissa: UInt64 = 0
  var exponent = 0
  /// Whether digits other than zero did not fit into the mantissa.
  var isCut = false

  /// Appends a digit from before or after the decimal point.
  @inline(__always)
  mutating func append(_ digit: UInt8, isFraction: Bool) {
    let (tenfold, overflow) = mantissa.multipliedReportingOverflow(by: 10)
    let (sum, carry) = tenfold.addingReportingOverflow(UInt64(digit))
    if overflow || carry || isCut {
      // Only a zero can be dropped without loss, and after that no other digit fits either.
      isCut = isCut || digit != 0
      if !isFraction { exponent += 1 }
    } else {
      mantissa = sum
      if isFraction { exponent -= 1 }
    }
  }

  /// The number as a whole number, if it is one and fits: 1.0 and 1e2 are.
  @usableFromInline
  func whole<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    guard mantissa != 0 else { return 0 }
    guard !isCut, (-20...20).contains(exponent) else { return nil }
    var magnitude = mantissa
    for _ in 0..<abs(exponent) {
      if exponent < 0 {
        let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
        guard remainder == 0 else { return nil }
        magnitude = quotient
      } else {
        let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        magnitude = product
      }
    }
    return Value(magnitude: magnitude, isNegative: isNegative)
  }

  /// The nearest `Double`, if it results from one operation on two exact numbers, which rounds correctly (W. D.
  /// Clinger, How to Read Floating Point Numbers Accurately, 1990).
  var exactDouble: Double? {
    guard !isCut, mantissa <= 1 << 53, (-22...22).contains(exponent) else { return mantissa == 0 ? signed(0) : nil }
    let value = Double(mantissa)
    return signed(exponent < 0 ? value / Self.powers[-exponent] : value * Self.powers[exponent])
  }

  private func signed(_ value: Double) -> Double { isNegative ? -value : value }

  private static let powers: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]
}

extension FixedWidthInteger {
  /// The number with this magnitude and sign, if it fits.
  @inlinable @inline(__always)
  init?(magnitude: UInt64, isNegative: Bool) {
    if isNegative {
      guard magnitude <= UInt64(Int64.max) + 1 else { return nil }
      self.init(exactly: Int64(truncatingIfNeeded: 0 &- magnitude))
    } else {
      self.init(exactly: magnitude)
    }
  }
}
