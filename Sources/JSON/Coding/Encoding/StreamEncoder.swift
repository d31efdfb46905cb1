import Foundation

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

  /// Begins an array or object, or continues it: a value may ask for its container more than once.
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

  /// An encoder for the object or array that is a member's value: the same one each time it is asked for.
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
