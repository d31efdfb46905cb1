import Platform

/// Encodes one value straight into the text.
final class StreamEncoder: Encoder {
  /// The form in which the value is written.
  enum Form {
    case nothing, object, array, plain
  }

  let output: EncodingOutput
  private let parent: StreamEncoder?
  private let key: (any CodingKey)?
  private var form = Form.nothing
  /// Where in the output a plain value was written.
  private var plain: Range<Int>?
  var isEmpty: Bool { form == .nothing }
  /// The number of elements of an array so far.
  private(set) var count = 0

  init(output: EncodingOutput, parent: StreamEncoder?, key: (any CodingKey)?) {
    self.output = output
    self.parent = parent
    self.key = key
  }

  /// Encodes a value as a whole text.
  static func encode<Value: Encodable>(_ value: Value, by coder: JSONCoder) throws -> Data {
    let output = EncodingOutput(options: coder.options, strategies: coder.strategies)
    defer { output.discardNested() }
    let encoder = StreamEncoder(output: output, parent: nil, key: nil)
    try encoder.encodeValue(value, key: nil, isWhole: true)
    let result: Result<Data, JSONError> = Result { () throws(JSONError) in try encoder.output.finish() }
    switch result {
    case .success(let data): return data
    case .failure(let error): throw encoder.error(error, for: value)
    }
  }

  var userInfo: [CodingUserInfoKey: Any] { output.options.userInfo }

  var codingPath: [any CodingKey] {
    var path: [any CodingKey] = []
    var encoder: StreamEncoder? = self
    while let current = encoder {
      if let key = current.key { path.append(key) }
      encoder = current.parent
    }
    return path.reversed()
  }

  /// Begins an array or object, or continues it: a value may request its container more than once.
  func begin(_ form: Form) {
    guard self.form != form, !reopen(as: form) else { return }
    precondition(self.form == .nothing, "A value is encoded as one object, one array or one plain value.")
    self.form = form
    switch form {
    case .object: output.writer.pointee.beginObject()
    case .array: output.writer.pointee.beginArray()
    case .plain, .nothing: break
    }
  }

  /// Continues an array or object that was written through the single value container, by a superclass for example.
  private func reopen(as form: Form) -> Bool {
    guard let plain, let count = output.reopen(plain, as: form) else { return false }
    self.plain = nil
    self.form = form
    self.count = count
    return true
  }

  /// Ends the value; a value that wrote nothing becomes an empty object.
  func close() {
    switch form {
    case .nothing:
      output.writer.pointee.beginObject()
      output.writer.pointee.endObject()
    case .object: output.writer.pointee.endObject()
    case .array: output.writer.pointee.endArray()
    case .plain: break
    }
    form = .plain
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    begin(.object)
    return KeyedEncodingContainer(StreamKeyedContainer(self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    begin(.array)
    return StreamUnkeyedContainer(self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  /// The name under which a key is written.
  @inline(__always)
  func name(of key: some CodingKey) -> String {
    output.options.keys == .snakeCase ? key.stringValue.toSnakeCase : key.stringValue
  }

  /// Writes a member. If that fails, nothing of it stays in the output.
  @inline(__always)
  func encodeMember<Value: Encodable>(_ value: Value, name: String, key: some CodingKey) throws {
    let mark = output.mark
    output.writer.pointee.writeKey(name)
    do {
      try encodeValue(value, key: key)
    } catch {
      output.goBack(to: mark)
      throw error
    }
  }

  /// Writes an element. If that fails, nothing of it stays in the output.
  @inline(__always)
  func encodeElement<Value: Encodable>(_ value: Value) throws {
    let mark = output.mark
    do {
      try encodeValue(value, key: JSONKey(intValue: count))
      count += 1
    } catch {
      output.goBack(to: mark)
      throw error
    }
  }

  /// An encoder for a nested value that may be written to in turns with others.
  func nestedEncoder(key: any CodingKey) -> StreamEncoder {
    let encoder = StreamEncoder(output: output.inside(), parent: self, key: key)
    output.nest(encoder)
    if form == .array { count += 1 }
    return encoder
  }

  /// An encoder for the object or array that is a member's value: the same one each time it is requested.
  func nestedMember(_ key: some CodingKey, as form: Form) -> StreamEncoder {
    let name = name(of: key)
    if let encoder = output.nestedMember(name, of: self), encoder.form == form { return encoder }
    output.writer.pointee.writeKey(name)
    let encoder = nestedEncoder(key: key)
    output.remember(name, of: self)
    return encoder
  }

  /// Converts the error of this encoder's writer, whose path begins where its output does.
  func error(_ error: JSONError, for value: Any) -> EncodingError {
    var first = self
    while let parent = first.parent, parent.output === output { first = parent }
    return EncodingError(error, value: value, inside: first.codingPath)
  }

  func context(_ description: String, key: (any CodingKey)?) -> EncodingError.Context {
    EncodingError.Context(codingPath: codingPath + (key.map { [$0] } ?? []), debugDescription: description)
  }
}

extension StreamEncoder: SingleValueEncodingContainer {
  func encodeNil() throws {
    try requireNothing(before: Any?.none as Any)
    output.writer.pointee.writeNull()
    begin(.plain)
  }

  func encode<Value: Encodable>(_ value: Value) throws { try encodeAlone(value) }

  // The standard library rejects these two types unless a container has its own methods for them.

  func encode(_ value: Int128) throws { try encodeAlone(value) }

  func encode(_ value: UInt128) throws { try encodeAlone(value) }

  /// Writes the only value. If that fails, nothing of it stays in the output.
  private func encodeAlone<Value: Encodable>(_ value: Value) throws {
    try requireNothing(before: value)
    let mark = output.mark
    do {
      try encodeValue(value, key: nil)
    } catch {
      output.goBack(to: mark)
      throw error
    }
    begin(.plain)
    plain = mark.start..<max(mark.start, output.writer.pointee.count)
  }

  /// Two values in one place would not be JSON.
  private func requireNothing(before value: Any) throws {
    guard isEmpty else {
      throw EncodingError.invalidValue(value, context("Another value was encoded in the same place.", key: nil))
    }
  }
}

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
    case .decimal:
      guard let decimal = value as? Decimal else { break }
      if output.options.decimals == .string, decimal.isFinite {
        writer.pointee.writeString(decimal.description)
      } else {
        decimal.encode(to: &writer.pointee)
      }
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
    case .iso8601, .lenientISO8601: date.encode(to: &output.writer.pointee)
    case .calendarDate:
      if let text = date.calendarDate {
        output.writer.pointee.writeString(text)
      } else {
        date.encode(to: &output.writer.pointee)
      }
    case .secondsSince1970: try encode(date.timeIntervalSince1970, key: key)
    case .millisecondsSince1970: try encode(date.timeIntervalSince1970 * 1000, key: key)
    case .deferredToDate: try encode(date.timeIntervalSinceReferenceDate, key: key)
    case .custom(_, let write): output.writer.pointee.writeString(write(date))
    }
  }
}

/// The members of an object.
struct StreamKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: StreamEncoder

  init(_ encoder: StreamEncoder) {
    self.encoder = encoder
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  mutating func encodeNil(forKey key: Key) throws {
    encoder.output.writer.pointee.writeKey(encoder.name(of: key))
    encoder.output.writer.pointee.writeNull()
  }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  // The standard library rejects these two types unless a container has its own methods for them.

  mutating func encode(_ value: Int128, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  mutating func encode(_ value: UInt128, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.nestedMember(key, as: .object).container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.nestedMember(key, as: .array).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { nested(JSONKey(stringValue: "super")) }

  mutating func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

  private func nested(_ key: some CodingKey) -> StreamEncoder {
    encoder.output.writer.pointee.writeKey(encoder.name(of: key))
    return encoder.nestedEncoder(key: key)
  }
}

/// The elements of an array.
struct StreamUnkeyedContainer: UnkeyedEncodingContainer {
  private let encoder: StreamEncoder

  init(_ encoder: StreamEncoder) {
    self.encoder = encoder
  }

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.count }

  mutating func encodeNil() throws { try encoder.encodeElement(Int?.none) }

  mutating func encode<Value: Encodable>(_ value: Value) throws { try encoder.encodeElement(value) }

  // The standard library rejects these two types unless a container has its own methods for them.

  mutating func encode(_ value: Int128) throws { try encoder.encodeElement(value) }

  mutating func encode(_ value: UInt128) throws { try encoder.encodeElement(value) }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    nested().container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder { nested() }

  private func nested() -> StreamEncoder { encoder.nestedEncoder(key: JSONKey(intValue: encoder.count)) }
}
