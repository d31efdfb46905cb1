import SystemBase

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
  /// Where in the output the object begins.
  private var start = 0
  /// Where in the output a plain value was written.
  private var plain: Range<Int>?
  var isEmpty: Bool { form == .nothing }
  /// The number of elements of an array so far.
  private(set) var count = 0
  private let isRefusing: Bool

  init(output: EncodingOutput, parent: StreamEncoder?, key: (any CodingKey)?) {
    self.output = output
    self.parent = parent
    self.key = key
    isRefusing = false
  }

  /// Encodes a value as a whole text.
  static func encode<Value: Encodable>(_ value: Value, by coder: JSONCoder) throws -> Data {
    let output = EncodingOutput(options: coder.options, strategies: coder.strategies)
    defer { output.discardNested() }
    let encoder = StreamEncoder(output: output, parent: nil, key: nil)
    output.setCurrent(encoder)
    try encoder.encodeValue(value, key: nil, isWhole: true)
    do {
      return try output.finish()
    } catch let error as JSONError {
      throw EncodingError(error, value: value)
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

  /// Whether this encoder's value is the innermost one, and an array or object that is not complete.
  @inline(__always)
  private func isOpen(_ form: Form) -> Bool { output.current == ObjectIdentifier(self) && self.form == form }

  /// Begins an array or object, or continues it: a value may request its container more than once. Where that is not
  /// possible, nothing can be written into the container.
  func begin(_ form: Form) {
    guard self.form != form else { return }
    guard output.current == ObjectIdentifier(self), !reopen(as: form) else { return }
    guard self.form == .nothing else { return output.refuse(misuse) }
    guard output.writer.pointee.depth < JSONReader.depthLimit else {
      return output.refuse(tooDeep(JSONError.expectedLevels, value: Self.unknown, key: nil))
    }
    self.form = form
    if form == .object { output.writer.pointee.beginObject() } else { output.writer.pointee.beginArray() }
    start = output.writer.pointee.count - 1
  }

  /// Continues an array or object that was written through the single value container, by a superclass for example.
  private func reopen(as form: Form) -> Bool {
    guard let plain, let count = output.reopen(plain, as: form) else { return false }
    self.plain = nil
    self.form = form
    self.count = count
    start = plain.lowerBound
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
    guard isOpen(.object), name.isName else { throw refusal(of: value, name: name) }
    let mark = output.mark
    output.writer.pointee.writeName(name)
    do {
      try encodeValue(value, key: key)
    } catch {
      output.goBack(to: mark)
      throw error
    }
  }

  /// Writes a member that is null.
  func encodeNull(name: String) throws {
    guard isOpen(.object), name.isName else { throw refusal(of: Self.unknown, name: name) }
    output.writer.pointee.writeName(name)
    output.writer.pointee.writeNull()
  }

  /// Writes an element. If that fails, nothing of it stays in the output.
  @inline(__always)
  func encodeElement<Value: Encodable>(_ value: Value) throws {
    guard isOpen(.array) else { throw refusal(of: value) }
    let mark = output.mark
    do {
      try encodeValue(value, key: JSONKey(intValue: count))
      count += 1
    } catch {
      output.goBack(to: mark)
      throw error
    }
  }

  /// An encoder for an element that may be written to in turns with others.
  func nestedElement() -> StreamEncoder {
    let key = JSONKey(intValue: count)
    guard isOpen(.array) else { return refusingEncoder(refusal(of: Self.unknown), key: key) }
    count += 1
    return nest(key: key, as: nil)
  }

  /// An encoder for a member that may be written to in turns with others. With a form, the member is an object or an
  /// array, and its encoder the same one each time it is requested.
  func nestedMember(_ key: some CodingKey, as form: Form?) -> StreamEncoder {
    let name = name(of: key)
    guard isOpen(.object), name.isName else {
      return refusingEncoder(refusal(of: Self.unknown, name: name), key: key)
    }
    let member = form == nil ? nil : EncodingOutput.Member(object: start, name: MemberName(name))
    if let member, let encoder = output.nestedEncoder(of: member), encoder.form == form { return encoder }
    output.writer.pointee.writeName(name)
    return nest(key: key, as: member)
  }

  private func nest(key: any CodingKey, as member: EncodingOutput.Member?) -> StreamEncoder {
    let encoder = StreamEncoder(output: output.inside(), parent: self, key: key)
    encoder.output.setCurrent(encoder)
    output.nest(encoder, as: member)
    return encoder
  }

  /// An encoder into which nothing can be written: it is never its output's current one.
  private func refusingEncoder(_ error: EncodingError, key: any CodingKey) -> StreamEncoder {
    output.refuse(error)
    // One stands for all that are inside of it, so that none of these can be requested too deep for the stack.
    return isRefusing ? self : StreamEncoder(refusingFor: self, key: key)
  }

  private init(refusingFor parent: StreamEncoder, key: any CodingKey) {
    output = parent.output
    self.parent = parent
    self.key = key
    isRefusing = true
  }

  // MARK: Errors

  /// Why a value cannot be written into this encoder's array or object.
  @inline(never)
  private func refusal(of value: Any, name: String = "") -> EncodingError {
    guard name.isName else {
      return EncodingError(failure(.invalid, String.expectedOfKeys), value: value, inside: codingPath)
    }
    return output.refusal ?? misuse
  }

  /// Stands for the value of an encoder, in errors that the output keeps.
  private static var unknown: Any { Any?.none as Any }

  private var misuse: EncodingError {
    .invalidValue(
      Self.unknown,
      context(
        "A value is encoded as one object, one array or one plain value, and while its encoder is called.", key: nil))
  }

  /// The error of a value that nests deeper than `expected`.
  @inline(never)
  private func tooDeep(_ expected: String, value: Any, key: (any CodingKey)?) -> EncodingError {
    EncodingError(failure(.tooDeep, expected), value: value, inside: codingPath + (key.map { [$0] } ?? []))
  }

  @inline(never)
  private func nothingEncoded(_ value: Any, key: (any CodingKey)?) -> EncodingError {
    .invalidValue(value, context("The value encoded nothing.", key: key))
  }

  private func failure(_ kind: JSONError.Kind, _ expected: String) -> JSONError {
    JSONError(kind, path: [], offset: output.writer.pointee.count, expected: expected)
  }

  /// Why a value that was just written cannot be.
  @inline(never)
  private func failure(for value: Any, key: (any CodingKey)?) -> EncodingError {
    guard output.refusal == nil, let failure = output.writer.pointee.failure else { return output.refusal ?? misuse }
    return EncodingError(failure, value: value, inside: codingPath + (key.map { [$0] } ?? []))
  }

  func context(_ description: String, key: (any CodingKey)?) -> EncodingError.Context {
    EncodingError.Context(codingPath: codingPath + (key.map { [$0] } ?? []), debugDescription: description)
  }
}

extension StreamEncoder: SingleValueEncodingContainer {
  func encodeNil() throws {
    try requireNothing(before: Any?.none as Any)
    output.writer.pointee.writeNull()
    form = .plain
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
    form = .plain
    plain = mark.start..<max(mark.start, output.writer.pointee.count)
  }

  /// Two values in one place would not be JSON.
  private func requireNothing(before value: Any) throws {
    guard isOpen(.nothing) else {
      if isEmpty { throw refusal(of: value) }
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
    let strategy = output.strategy(of: Value.self)
    guard case .generic = strategy else { return try encode(value, by: strategy, key: key) }
    let encoder = try begin(value, key: key)
    defer { output.setCurrent(self) }
    try value.encode(to: encoder)
    if isWhole, encoder.isEmpty { throw nothingEncoded(value, key: key) }
    try end(value, encoder, key: key)
  }

  /// An encoder for a value, which is the only one that may write until the value ends.
  @inline(__always)
  private func begin(_ value: some Any, key: (any CodingKey)?) throws -> StreamEncoder {
    guard output.hasRoom() else { throw tooDeep(JSONError.expectedRoom, value: value, key: key) }
    let encoder = StreamEncoder(output: output, parent: self, key: key)
    output.setCurrent(encoder)
    return encoder
  }

  @inline(__always)
  private func end(_ value: some Any, _ encoder: StreamEncoder, key: (any CodingKey)?) throws {
    if output.writer.pointee.failure != nil { throw failure(for: value, key: key) }
    encoder.close()
  }

  // Not inlined, so that the values of types that encode themselves take less of the stack.
  @inline(never)
  private func encode<Value: Encodable>(
    _ value: Value, by strategy: EncodingStrategy, key: (any CodingKey)?
  ) throws {
    let writer = output.writer
    writer.pointee.origin = writer.pointee.count
    switch strategy {
    case .generic: try encodeByItself(value, key: key)
    case .direct(let direct): write(value, as: direct)
    case .dictionary:
      let encoder = try begin(value, key: key)
      defer { output.setCurrent(self) }
      try (value as? any SortedMembers)?.encode(by: encoder)
      try end(value, encoder, key: key)
    case .date:
      if let date = value as? Date { try encode(date, key: key) }
    case .data:
      if output.options.data == .base64 {
        (value as? Data)?.encode(to: &writer.pointee)
      } else {
        try encodeByItself(value, key: key)
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
    if writer.pointee.failure != nil { throw failure(for: value, key: key) }
  }

  /// The cast is safe, since a strategy is kept under its own type: the two types are the same.
  private func write<Direct: JSONEncodable>(_ value: some Any, as direct: Direct.Type) {
    unsafeBitCast(value, to: direct).encode(to: &output.writer.pointee)
  }

  private func encodeByItself(_ value: some Encodable, key: (any CodingKey)?) throws {
    let encoder = try begin(value, key: key)
    defer { output.setCurrent(self) }
    try value.encode(to: encoder)
    try end(value, encoder, key: key)
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

  mutating func encodeNil(forKey key: Key) throws { try encoder.encodeNull(name: encoder.name(of: key)) }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  // The standard library's own takes more of the stack.
  mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
    if let value { try encoder.encodeMember(value, name: encoder.name(of: key), key: key) }
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

  mutating func superEncoder() -> any Encoder { encoder.nestedMember(JSONKey(stringValue: "super"), as: nil) }

  mutating func superEncoder(forKey key: Key) -> any Encoder { encoder.nestedMember(key, as: nil) }
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
    encoder.nestedElement().container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.nestedElement().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder { encoder.nestedElement() }
}
