import GraphQLClient
import SystemBase

/// The keys that values encode, with their types in Swift, also those of optionals that are nil.
struct EncodedKeys {
  /// A key, as a path.
  struct Entry {
    let path: [String]
    /// The type, without that it is optional.
    let type: Any.Type
    /// Whether nothing is sent, or null, if it is nil.
    let isOptional: Bool
    /// Whether it was nil in every value so far.
    var isAbsent: Bool
  }

  private let storage = Storage()
  private let userInfo: [CodingUserInfoKey: Any]

  init(userInfo: [CodingUserInfoKey: Any]) {
    self.userInfo = userInfo
  }

  /// The keys in the order in which they were first seen.
  var entries: [Entry] { storage.entries }

  /// Whether there is a key.
  func contains(where isWanted: ([String]) -> Bool) -> Bool { storage.numbers.keys.contains(where: isWanted) }

  /// Encodes a value, to see its keys. What it throws is for the real encoder to say.
  func record(_ value: some Encodable) {
    try? value.encode(to: KeyEncoder(storage: storage, path: [], userInfo: userInfo))
  }

  fileprivate final class Storage {
    var numbers: [[String]: Int] = [:]
    var entries: [Entry] = []

    func add(_ path: [String], _ type: Any.Type?, isOptional: Bool, isAbsent: Bool) {
      if let number = numbers[path] {
        if number < entries.count, !isAbsent { entries[number].isAbsent = false }
        return
      }
      numbers[path] = type == nil ? .max : entries.count
      guard let type else { return }
      let wrapped = (type as? any OptionalType.Type)?.wrapped
      entries.append(
        Entry(path: path, type: wrapped ?? type, isOptional: isOptional || wrapped != nil, isAbsent: isAbsent))
    }
  }
}

/// An optional.
protocol OptionalType {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalType {
  static var wrapped: Any.Type { Wrapped.self }
}

/// A type that is encoded as a list.
protocol ListType {
  static var element: Any.Type { get }
}

extension Array: ListType { static var element: Any.Type { Element.self } }
extension Set: ListType { static var element: Any.Type { Element.self } }

private struct KeyEncoder: Encoder {
  let storage: EncodedKeys.Storage
  let path: [String]
  let userInfo: [CodingUserInfoKey: Any]
  var codingPath: [any CodingKey] { [] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedKeys(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedKeys(encoder: self) }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleKeys(encoder: self) }

  func at(_ path: [String]) -> KeyEncoder { KeyEncoder(storage: storage, path: path, userInfo: userInfo) }

  /// Looks into a value, unless it is text, a number or a file.
  func look(into value: some Encodable) throws {
    guard path.count < 30, !(value is any RecordedPrimitive), !(value is any ReadByDecoder), !(value is GraphQLUpload)
    else { return }
    try value.encode(to: self)
  }
}

private struct SingleKeys: SingleValueEncodingContainer {
  let encoder: KeyEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil() {}

  func encode(_ value: some Encodable) throws { try encoder.look(into: value) }
}

private struct UnkeyedKeys: UnkeyedEncodingContainer {
  let encoder: KeyEncoder
  var count = 0
  var codingPath: [any CodingKey] { [] }

  init(encoder: KeyEncoder) {
    self.encoder = encoder
  }

  mutating func encodeNil() { count += 1 }

  mutating func encode(_ value: some Encodable) throws {
    count += 1
    try encoder.look(into: value)
  }

  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    count += 1
    return encoder.container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    count += 1
    return encoder.unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { encoder }
}

private struct KeyedKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: KeyEncoder
  var codingPath: [any CodingKey] { [] }

  /// Adds what may be nil.
  private func add<Value>(_ key: Key, _ value: Value?) -> [String] {
    let path = encoder.path + [key.stringValue]
    encoder.storage.add(path, Value.self, isOptional: true, isAbsent: value == nil)
    return path
  }

  /// Adds what is always there, of a type that says something or not.
  private func add(_ key: Key, _ type: Any.Type?) -> KeyEncoder {
    let path = encoder.path + [key.stringValue]
    encoder.storage.add(path, type, isOptional: false, isAbsent: false)
    return encoder.at(path)
  }

  func encodeNil(forKey key: Key) { _ = add(key, nil as Any.Type?) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try add(key, Value.self as Any.Type?).look(into: value)
  }

  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
    let path = add(key, value)
    if let value { try encoder.at(path).look(into: value) }
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
    add(key, nil as Any.Type?).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    add(key, nil as Any.Type?).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder }
  func superEncoder(forKey key: Key) -> any Encoder { add(key, nil as Any.Type?) }
}
