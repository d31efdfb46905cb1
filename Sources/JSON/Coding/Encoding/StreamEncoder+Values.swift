import Foundation

extension StreamEncoder {
  /// Writes a value. `key` leads there from this encoder's own value; it is nil for that value itself.
  ///
  /// The compiler resolves the comparisons of types if it knows the type.
  @inline(__always)
  func encodeValue<Value: Encodable>(
    _ value: Value, key: @autoclosure () -> (any CodingKey)?, isWhole: Bool = false
  ) throws {
    let type = Value.self
    let writer = output.writer
    if type == String.self { return writer.pointee.writeString(unsafeBitCast(value, to: String.self)) }
    if type == Bool.self { return writer.pointee.writeBool(unsafeBitCast(value, to: Bool.self)) }
    if type == Int.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: Int.self)) }
    if type == Double.self { return try encode(unsafeBitCast(value, to: Double.self), key: key()) }
    if type == Float.self { return try encode(unsafeBitCast(value, to: Float.self), key: key()) }
    if type == Int64.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: Int64.self)) }
    if type == Int32.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: Int32.self)) }
    if type == Int16.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: Int16.self)) }
    if type == Int8.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: Int8.self)) }
    if type == UInt.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: UInt.self)) }
    if type == UInt64.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: UInt64.self)) }
    if type == UInt32.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: UInt32.self)) }
    if type == UInt16.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: UInt16.self)) }
    if type == UInt8.self { return writer.pointee.writeInteger(unsafeBitCast(value, to: UInt8.self)) }
    try encodeOther(value, key: key(), isWhole: isWhole)
  }

  private func encode<Value: BinaryFloatingPoint & JSONEncodable>(_ value: Value, key: (any CodingKey)?) throws {
    guard value.isFinite else {
      throw EncodingError.invalidValue(value, context("JSON cannot express \(value).", key: key))
    }
    value.encode(to: &output.writer.pointee)
  }

  private func encodeOther<Value: Encodable>(_ value: Value, key: (any CodingKey)?, isWhole: Bool) throws {
    let writer = output.writer
    switch output.strategy(of: Value.self) {
    case .generic: try encodeByItself(value, key: key, isWhole: isWhole)
    case .direct(let direct): write(value, as: direct)
    case .dictionary:
      let encoder = StreamEncoder(output: output, parent: self, key: key)
      try (value as? any SortedMembers)?.encode(by: encoder)
      encoder.close()
    case .date:
      if let date = value as? Date { try encode(date, key: key) }
    case .data:
      if output.options.data == .base64 {
        (value as? Data)?.encode(to: &writer.pointee)
      } else {
        try encodeByItself(value, key: key, isWhole: isWhole)
      }
    case .url: (value as? URL)?.encode(to: &writer.pointee)
    case .decimal: (value as? Decimal)?.encode(to: &writer.pointee)
    }
    if let failure = writer.pointee.failure { throw error(failure, for: value) }
  }

  /// The cast is safe, since a strategy is kept under its own type: the two types are the same.
  private func write<Direct: JSONEncodable>(_ value: some Any, as direct: Direct.Type) {
    unsafeBitCast(value, to: direct).encode(to: &output.writer.pointee)
  }

  private func encodeByItself(_ value: some Encodable, key: (any CodingKey)?, isWhole: Bool) throws {
    let encoder = StreamEncoder(output: output, parent: self, key: key)
    try value.encode(to: encoder)
    if isWhole, encoder.isEmpty {
      throw EncodingError.invalidValue(value, context("The value encoded nothing.", key: key))
    }
    encoder.close()
  }

  private func encode(_ date: Date, key: (any CodingKey)?) throws {
    switch output.options.dates {
    case .iso8601: date.encode(to: &output.writer.pointee)
    case .secondsSince1970: try encode(date.timeIntervalSince1970, key: key)
    case .millisecondsSince1970: try encode(date.timeIntervalSince1970 * 1000, key: key)
    case .deferredToDate: try encode(date.timeIntervalSinceReferenceDate, key: key)
    case .custom(_, let write): output.writer.pointee.writeString(write(date))
    }
  }
}
