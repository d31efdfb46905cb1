extension JSONWriter {
  /// Writes a value of any ``JSONEncodable`` type.
  @inlinable @inline(__always)
  public mutating func write(_ value: some JSONEncodable) {
    value.encode(to: &self)
  }

  /// Writes `null`.
  @inlinable
  public mutating func writeNull() {
    separate()
    append("null")
  }

  /// Writes `true` or `false`.
  @inlinable
  public mutating func writeBool(_ value: Bool) {
    separate()
    append(value ? "true" : "false")
  }

  /// Writes a whole number.
  @inlinable
  public mutating func writeInteger<Value: FixedWidthInteger>(_ value: Value) {
    if let value = Int64(exactly: value) {
      write(magnitude: value.magnitude, isNegative: value < 0)
    } else if let value = UInt64(exactly: value) {
      write(magnitude: value, isNegative: false)
    } else {
      writeNumber(String(value))
    }
  }

  @usableFromInline
  mutating func write(magnitude: UInt64, isNegative: Bool) {
    separate()
    reserve(1 + Self.greatestDigits)
    if isNegative {
      buffer[count] = UInt8(ascii: "-")
      count += 1
    }
    appendDigits(magnitude)
  }

  private static var greatestDigits: Int { 20 }

  /// Appends a whole number; the room must be reserved.
  @inline(__always)
  private mutating func appendDigits(_ magnitude: UInt64) {
    count += magnitude.decimalDigits
    var place = buffer + count
    var rest = magnitude
    while rest >= 100 {
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      place -= 2
      place[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: pair / 10)
      place[1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: pair % 10)
      rest = quotient
    }
    if rest >= 10 {
      place[-1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      place -= 1
      rest /= 10
    }
    place[-1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)
  }

  /// Writes a number with the fewest digits from which it is read back unchanged.
  public mutating func writeDouble(_ value: Double) {
    if !writeDecimal(value) { writeFloatingPoint(value) }
  }

  /// Writes a number with at most six decimals and 15 digits, as most numbers that people enter have. Returns false,
  /// without writing, for others.
  ///
  /// A number with so few digits is the only one that they stand for, and no shorter digits stand for it. So if reading
  /// the digits gives the number back, they are the shortest.
  private mutating func writeDecimal(_ value: Double) -> Bool {
    let magnitude = value.magnitude
    guard magnitude >= 1e-3, magnitude < 1e9 else { return false }
    let millionths = UInt64(magnitude * 1e6 + 0.5)
    guard Double(millionths) / 1e6 == magnitude else { return false }
    var (whole, fraction) = millionths.quotientAndRemainder(dividingBy: 1_000_000)
    separate()
    reserve(1 + Self.greatestDigits + 8)
    if value < 0 {
      buffer[count] = UInt8(ascii: "-")
      count += 1
    }
    appendDigits(whole)
    guard fraction > 0 else { return true }
    buffer[count] = UInt8(ascii: ".")
    count += 1
    // One decimal at a time, until only zeros are left.
    while fraction > 0 {
      (whole, fraction) = (fraction * 10).quotientAndRemainder(dividingBy: 1_000_000)
      buffer[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: whole)
      count += 1
    }
    return true
  }

  /// Writes a number with the fewest digits from which it is read back unchanged.
  public mutating func writeFloat(_ value: Float) {
    writeFloatingPoint(value)
  }

  private mutating func writeFloatingPoint(_ value: some BinaryFloatingPoint & TextOutputStreamable) {
    guard value.isFinite else { return writeInfinite() }
    separate()
    reserve(NumberText.capacity)
    var text = NumberText(end: buffer + count)
    value.write(to: &text)
    count = text.lengthWithoutZeroFraction(from: buffer + count) + count
  }

  private mutating func writeInfinite() {
    fail(expected: "a number that is finite")
    writeNull()
  }

  /// Writes the JSON text of a number, without a fraction of `.0`.
  @usableFromInline
  mutating func writeNumber(_ text: String) {
    separate()
    var text = text
    text.withUTF8 { bytes in
      guard let start = bytes.baseAddress else { return }
      let isWhole =
        bytes.count > 2 && bytes[bytes.count - 1] == UInt8(ascii: "0") && bytes[bytes.count - 2] == UInt8(ascii: ".")
      append(start, count: bytes.count - (isWhole ? 2 : 0))
    }
  }

  /// Writes JSON that has already been written or checked, unchanged.
  public mutating func writeRaw(_ raw: RawJSON) {
    if depth + raw.depth > JSONReader.depthLimit { failTooDeep() }
    separate()
    raw.bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      append(start, count: bytes.count)
    }
  }
}

extension UInt64 {
  /// The number of decimal digits.
  @inline(__always)
  fileprivate var decimalDigits: Int {
    guard self >= 100_000_000 else { return shortDigits }
    let (high, _) = quotientAndRemainder(dividingBy: 100_000_000)
    guard high >= 100_000_000 else { return 8 + high.shortDigits }
    return 16 + (high / 100_000_000).shortDigits
  }

  /// The number of decimal digits of a number with at most eight.
  @inline(__always)
  private var shortDigits: Int {
    if self < 10_000 { return self < 100 ? (self < 10 ? 1 : 2) : (self < 1000 ? 3 : 4) }
    return self < 1_000_000 ? (self < 100_000 ? 5 : 6) : (self < 10_000_000 ? 7 : 8)
  }
}
