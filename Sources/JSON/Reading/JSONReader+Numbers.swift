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

  private func text(from first: UnsafePointer<UInt8>) -> String {
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
