extension JSONReader {
  /// What a scan found out about a string.
  @frozen @usableFromInline
  struct StringShape {
    @usableFromInline var isASCII: Bool
    @usableFromInline var hasEscapes: Bool

    @inlinable
    init(isASCII: Bool, hasEscapes: Bool) {
      self.isASCII = isASCII
      self.hasEscapes = hasEscapes
    }
  }

  /// Reads a string.
  @inlinable
  public mutating func readString() throws(JSONError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw mismatch("a string") }
    position += 1
    let first = position
    let shape = try scanString()
    return makeString(from: first, count: position - first - 1, shape)
  }

  /// Reads the next value if it is this string, written without escapes, and returns whether it was: for enums, whose
  /// cases are known.
  @inlinable @inline(__always)
  public mutating func readString(ifEqualTo text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard peek() == UInt8(ascii: "\""), end - position >= count + 2, position[count + 1] == UInt8(ascii: "\""),
      bytesAreEqual(position + 1, text.utf8Start, count)
    else { return false }
    position += count + 2
    return true
  }

  /// Moves from after a string's opening quote to after its closing quote, and checks everything in between.
  @inlinable
  mutating func scanString() throws(JSONError) -> StringShape {
    let start = position
    while end - position >= 8 {
      let marks = UInt64(bytesAt: position).firstSpecialInString
      if marks == 0 {
        position += 8
        if position - start == 32 { skipLongText() }
        continue
      }
      position += marks.trailingZeroBitCount >> 3
      if position.pointee == UInt8(ascii: "\"") {
        position += 1
        return StringShape(isASCII: true, hasEscapes: false)
      }
      break
    }
    return try scanStringSlowly()
  }

  /// Skips the quotation mark that ``nextKind()`` has found, so that ``scanString()`` may follow.
  mutating func skipQuotationMark() {
    if position < end, position.pointee == UInt8(ascii: "\"") { position += 1 }
  }

  /// Like ``scanString()``, for the rest of a string with other characters than plain ASCII, or near the end.
  @usableFromInline @inline(never)
  mutating func scanStringSlowly() throws(JSONError) -> StringShape {
    var shape = StringShape(isASCII: true, hasEscapes: false)
    while position < end {
      let byte = position.pointee
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return shape
      case UInt8(ascii: "\\"):
        shape.hasEscapes = true
        if try skipEscape() { shape.isASCII = false }
      case 0x80...:
        shape.isASCII = false
        repeat {
          let length = UTF8Sequence.length(at: position, before: end)
          guard length > 0 else { throw malformed("text in UTF-8") }
          position += length
        } while position < end && position.pointee >= 0x80
      case ..<0x20:
        throw malformed("no control character in a string")
      default:
        position += 1
        skipPlainText()
      }
    }
    throw malformed("a closing quote")
  }

  /// Skips plain ASCII, 32 bytes at a time: for a string that has turned out to be long.
  @usableFromInline @inline(never)
  mutating func skipLongText() { position = Self.longTextEnd(from: position, before: end) }

  /// Skips plain ASCII, eight bytes at a time.
  @inline(__always)
  private mutating func skipPlainText() {
    while end - position >= 8 {
      let marks = UInt64(bytesAt: position).firstSpecialInString
      guard marks == 0 else {
        position += marks.trailingZeroBitCount >> 3
        return
      }
      position += 8
    }
  }

  /// Checks and skips one escape (RFC 8259, section 7). Returns whether it stands for a character outside ASCII.
  private mutating func skipEscape() throws(JSONError) -> Bool {
    guard end - position >= 2 else { throw malformed("an escape") }
    switch position[1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 2
      return false
    case UInt8(ascii: "u"):
      guard let unit = hexadecimalUnit(at: position) else { throw malformed("four hexadecimal digits") }
      switch unit {
      case 0xD800...0xDBFF:
        guard let low = hexadecimalUnit(at: position + 6), (0xDC00...0xDFFF).contains(low) else {
          throw malformed("a pair of surrogates")
        }
        position += 12
        return true
      case 0xDC00...0xDFFF:
        throw malformed("a pair of surrogates")
      default:
        position += 6
        return unit >= 0x80
      }
    default:
      throw malformed("an escape")
    }
  }

  /// The value of the four digits, if `\uXXXX` is at this place.
  private func hexadecimalUnit(at pointer: UnsafePointer<UInt8>) -> UInt32? {
    guard end - pointer >= 6, pointer[0] == UInt8(ascii: "\\"), pointer[1] == UInt8(ascii: "u") else { return nil }
    return Escapes.hexadecimal(pointer + 2)
  }

  /// Makes a string from checked bytes.
  @inlinable @inline(__always)
  func makeString(from first: UnsafePointer<UInt8>, count: Int, _ shape: StringShape) -> String {
    if shape.hasEscapes { return Escapes.string(from: first, count: count) }
    let bytes = UnsafeBufferPointer(start: first, count: count)
    return String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: shape.isASCII))
  }
}

extension JSONReader {
  /// Reads a whole number. A number with a fraction or an exponent is accepted if its value is whole, as 1.0 and 1e2
  /// are; 1.5 is an error, and so is a number that does not fit.
  @inlinable
  public mutating func readInteger<Value: FixedWidthInteger>(
    _ type: Value.Type = Value.self
  ) throws(JSONError) -> Value {
    if let value = takePlainInteger(Value.self) { return value }
    guard try nextKind() == .number else { throw mismatch("a whole number") }
    let first = position
    guard let value = try scanNumber().whole(Value.self) ?? wideInteger(from: first) else {
      position = first
      throw outOfRange("a whole number that fits \(Value.self)")
    }
    return value
  }

  /// Reads a whole number if it is written without fraction and exponent and fits; otherwise reads nothing.
  @inlinable @inline(__always)
  mutating func takePlainInteger<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    let isNegative = peek() == UInt8(ascii: "-")
    let digits = position + (isNegative ? 1 : 0)
    var digit = digits
    var magnitude: UInt64 = 0
    while digit < end, digit.pointee &- UInt8(ascii: "0") < 10 {
      magnitude = magnitude &* 10 &+ UInt64(digit.pointee &- UInt8(ascii: "0"))
      digit += 1
    }
    let count = digit - digits
    // 19 digits cannot overflow.
    let isPlain = count == 1 || (2...19).contains(count) && digits.pointee != UInt8(ascii: "0")
    if isPlain, digit == end || !Self.continuesNumber(digit.pointee),
      let value = Value(magnitude: magnitude, isNegative: isNegative)
    {
      position = digit
      return value
    }
    return nil
  }

  @inlinable @inline(__always)
  static func continuesNumber(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
  }

  /// Reads a number that has been checked before, as a whole number; `nil` if it is not one or does not fit.
  mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws(JSONError) -> Value? {
    if let value = takePlainInteger(type) { return value }
    return try scanNumber().whole(type)
  }

  /// The number that was just read, for types with more than 64 bits.
  @usableFromInline
  func wideInteger<Value: FixedWidthInteger>(from first: UnsafePointer<UInt8>) -> Value? {
    Value.bitWidth > 64 ? Value(text(from: first)) : nil
  }

  /// Reads a number that has been checked before; `nil` if it does not fit.
  mutating func double() throws(JSONError) -> Double? {
    let first = position
    if let value = try scanNumber().exactDouble { return value }
    guard let value = Double(text(from: first)), value.isFinite else { return nil }
    return value
  }

  /// Reads a number as the nearest `Double`. A number that is too large is an error; one that is too small becomes
  /// zero.
  public mutating func readDouble() throws(JSONError) -> Double {
    guard try nextKind() == .number else { throw mismatch("a number") }
    let first = position
    guard let value = try double() else {
      position = first
      throw outOfRange("a number that fits Double")
    }
    return value
  }

  /// Reads a number as the nearest `Float`. A number that is too large is an error; one that is too small becomes zero.
  public mutating func readFloat() throws(JSONError) -> Float {
    guard try nextKind() == .number else { throw mismatch("a number") }
    let first = position
    _ = try scanNumber()
    guard let value = Float(text(from: first)), value.isFinite else {
      position = first
      throw outOfRange("a number that fits Float")
    }
    return value
  }

  /// Reads a number as its text, for types that keep more digits than `Double`.
  public mutating func readNumberText() throws(JSONError) -> String {
    guard try nextKind() == .number else { throw mismatch("a number") }
    let first = position
    _ = try scanNumber()
    return text(from: first)
  }

  func text(from first: UnsafePointer<UInt8>) -> String {
    makeString(from: first, count: position - first, StringShape(isASCII: true, hasEscapes: false))
  }

  /// Reads a number (RFC 8259, section 6) and returns its digits.
  @usableFromInline
  mutating func scanNumber() throws(JSONError) -> DecimalNumber {
    var number = DecimalNumber()
    if take("-") { number.isNegative = true }
    if !take("0") {
      try scanDigits { number.append($0, isFraction: false) }
    }
    if take(".") {
      try scanDigits { number.append($0, isFraction: true) }
    }
    if position < end, position.pointee | 0x20 == UInt8(ascii: "e") {
      position += 1
      let isNegative = take("-")
      if !isNegative { _ = take("+") }
      var exponent = 0
      // No text has enough digits to compensate for this exponent: beyond it there are only zero and infinity.
      try scanDigits { exponent = min(exponent * 10 + Int($0), 1 << 40) }
      number.exponent += isNegative ? -exponent : exponent
    }
    return number
  }

  /// Reads one or more digits.
  @inline(__always)
  private mutating func scanDigits(_ body: (UInt8) -> Void) throws(JSONError) {
    let first = position
    while position < end, case let digit = position.pointee &- UInt8(ascii: "0"), digit < 10 {
      body(digit)
      position += 1
    }
    guard position > first else { throw malformed("a digit") }
  }
}

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
