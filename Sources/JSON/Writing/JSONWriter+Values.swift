extension JSONWriter {
  /// Writes a value of any type that can be written.
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
    reserve(20)
    if isNegative {
      buffer[count] = UInt8(ascii: "-")
      count += 1
    }
    var length = 1
    var rest = magnitude
    while rest >= 10 {
      rest /= 10
      length += 1
    }
    rest = magnitude
    for place in stride(from: count + length - 1, through: count, by: -1) {
      buffer[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    count += length
  }

  /// Writes a number with the fewest digits that give it back.
  public mutating func writeDouble(_ value: Double) {
    writeFloatingPoint(value)
  }

  /// Writes a number with the fewest digits that give it back.
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
    separate()
    fail(expected: "a number that is finite")
    append("null")
  }

  /// Writes a number that is given as JSON writes it; a fraction of zero alone is left out.
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

  /// Writes JSON that was written or checked before, as it is.
  public mutating func writeRaw(_ raw: RawJSON) {
    separate()
    raw.bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      append(start, count: bytes.count)
    }
  }
}
