import Networking

/// The keys that values encode, also those of optionals that are nil, with their types.
struct EncodedKeys {
  private let storage = Storage()

  /// All keys, each as a path.
  var paths: Set<[String]> { storage.paths }

  /// Those of optionals that were nil.
  var absent: [(path: [String], type: Any.Type)] { storage.absent }

  /// Encodes a value, to see its keys. What it throws is for the real encoder to say.
  func record(_ value: some Encodable) {
    try? value.encode(to: KeyEncoder(storage: storage, path: []))
  }

  fileprivate final class Storage {
    var paths: Set<[String]> = []
    var absent: [(path: [String], type: Any.Type)] = []

    func add(_ path: [String], absent type: Any.Type?) {
      let isNew = paths.insert(path).inserted
      if let type, isNew { absent.append((path, type)) }
    }
  }
}

private struct KeyEncoder: Encoder {
  let storage: EncodedKeys.Storage
  let path: [String]
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedKeys(storage: storage, path: path))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedKeys(storage: storage, path: path) }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleKeys(storage: storage, path: path) }

  /// Looks into a value, unless it is text, a number or a file.
  func look(into value: some Encodable) throws {
    guard path.count < 30, !(value is any RecordedPrimitive), !(value is any ReadByDecoder), !(value is GraphQLUpload)
    else { return }
    try value.encode(to: self)
  }
}

private struct SingleKeys: SingleValueEncodingContainer {
  let storage: EncodedKeys.Storage
  let path: [String]
  var codingPath: [any CodingKey] { [] }

  func encodeNil() {}

  func encode(_ value: some Encodable) throws { try KeyEncoder(storage: storage, path: path).look(into: value) }
}

private struct UnkeyedKeys: UnkeyedEncodingContainer {
  let storage: EncodedKeys.Storage
  let path: [String]
  var count = 0
  var codingPath: [any CodingKey] { [] }

  init(storage: EncodedKeys.Storage, path: [String]) {
    self.storage = storage
    self.path = path
  }

  mutating func encodeNil() { count += 1 }

  mutating func encode(_ value: some Encodable) throws {
    count += 1
    try KeyEncoder(storage: storage, path: path).look(into: value)
  }

  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    count += 1
    return KeyedEncodingContainer(KeyedKeys(storage: storage, path: path))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    count += 1
    return UnkeyedKeys(storage: storage, path: path)
  }

  mutating func superEncoder() -> any Encoder { KeyEncoder(storage: storage, path: path) }
}

private struct KeyedKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let storage: EncodedKeys.Storage
  let path: [String]
  var codingPath: [any CodingKey] { [] }

  private func add<Value>(_ key: Key, _ value: Value?) -> [String] {
    let path = path + [key.stringValue]
    storage.add(path, absent: value == nil ? Value.self : nil)
    return path
  }

  func encodeNil(forKey key: Key) { storage.add(path + [key.stringValue], absent: nil) }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    try KeyEncoder(storage: storage, path: add(key, value)).look(into: value)
  }

  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
    let path = add(key, value)
    if let value { try KeyEncoder(storage: storage, path: path).look(into: value) }
  }

  // The protocol has each of these beside the generic one, and its own forget what is nil.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: String?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) { _ = add(key, value) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) { _ = add(key, value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    KeyedEncodingContainer(KeyedKeys<Nested>(storage: storage, path: add(key, 0)))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    UnkeyedKeys(storage: storage, path: add(key, 0))
  }

  func superEncoder() -> any Encoder { KeyEncoder(storage: storage, path: path) }
  func superEncoder(forKey key: Key) -> any Encoder { KeyEncoder(storage: storage, path: add(key, 0)) }
}
