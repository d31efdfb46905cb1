import GraphQLClient
import GraphQLLanguage

/// Lends a response to `init(from:)` and records what it reads.
struct RecordingDecoder: Decoder {
  let recording: Recording
  let source: RecordedSource
  /// The type that is decoded, for messages.
  let type: String
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { recording.userInfo }

  func container<Key: CodingKey>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordedObject(recording: recording, source: try object(), codingPath: codingPath))
  }

  /// The object that is decoded; anything, if the response has none there.
  private func object() throws -> RecordedSource {
    guard case .node(let node) = source else { return .anything }
    if case .object = node.content { return source }
    try recording.recordMismatch(node, type)
    return .anything
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .node(let node) = source else {
      return RecordedList(recording: recording, items: [], codingPath: codingPath)
    }
    if case .list(let items) = node.content {
      return RecordedList(recording: recording, items: items, codingPath: codingPath)
    }
    try recording.recordMismatch(node, type)
    return RecordedList(recording: recording, items: [], codingPath: codingPath)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    RecordedValue(recording: recording, source: source, codingPath: codingPath)
  }
}

private struct RecordedValue: SingleValueDecodingContainer {
  let recording: Recording
  let source: RecordedSource
  let codingPath: [any CodingKey]

  func decodeNil() -> Bool { source.isNull }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try recording.read(type, source, at: codingPath) }
}

extension RecordedSource {
  /// Whether it is null; what may be anything is, so that a type which contains itself ends somewhere.
  fileprivate var isNull: Bool {
    guard case .node(let node) = self else { return true }
    if case .null = node.content { return true }
    return false
  }
}

private struct RecordedList: UnkeyedDecodingContainer {
  let recording: Recording
  let items: [ResponseNode]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(recording: Recording, items: [ResponseNode], codingPath: [any CodingKey]) {
    self.recording = recording
    self.items = items
    self.codingPath = codingPath
  }

  var count: Int? { items.count }
  var isAtEnd: Bool { currentIndex >= items.count }

  private mutating func next() throws -> RecordedSource {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self, .init(codingPath: codingPath, debugDescription: "the list has \(items.count) items only"))
    }
    currentIndex += 1
    return .node(items[currentIndex - 1])
  }

  private var path: [any CodingKey] { codingPath + [RecordedKey(intValue: currentIndex - 1)] }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, RecordedSource.node(items[currentIndex]).isNull else { return false }
    items[currentIndex].place.isRead = true
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let source = try next()
    return try recording.read(type, source, at: path)
  }

  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try superDecoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try superDecoder().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    let source = try next()
    if case .node(let node) = source { node.place.isRead = true }
    return RecordingDecoder(recording: recording, source: source, type: "an item", codingPath: path)
  }
}

private struct RecordedObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recording: Recording
  let source: RecordedSource
  let codingPath: [any CodingKey]

  private var object: (node: ResponseNode, object: ResponseNode.Object)? {
    guard case .node(let node) = source, case .object(let object) = node.content else { return nil }
    return (node, object)
  }

  /// Who asks for all keys looks at all members.
  var allKeys: [Key] {
    guard let object = object?.object else { return [] }
    for member in object.members { member.place.isRead = true }
    return object.members.compactMap { $0.place.key.flatMap(Key.init(stringValue:)) }
  }

  /// The member of a key, also if the decoder converts `snake_case`; `nil` if the response has none.
  private func member(_ key: Key) -> ResponseNode? {
    let name = key.stringValue
    guard let object = object?.object else { return nil }
    if let member = object.member(name) { return member }
    return object.members.first { $0.place.key.map { $0.contains("_") && $0.camelCased == name } ?? false }
  }

  private func recordMissing(_ key: Key, readAs type: String?) throws {
    guard let (node, object) = object else { return }
    try recording.recordMissing(key.stringValue, of: object, at: node.place, readAs: type)
  }

  func contains(_ key: Key) -> Bool {
    guard object != nil else { return false }
    if let member = member(key) {
      member.place.isRead = true
      return true
    }
    if !deferred(key).isEmpty { return true }
    // What may be missing is no failure, so that nothing is thrown.
    try? recordMissing(key, readAs: nil)
    return false
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    guard object != nil else { return true }
    guard let member = member(key) else {
      if !deferred(key).isEmpty { return false }
      try recordMissing(key, readAs: "a value")
      return true
    }
    member.place.isRead = true
    return RecordedSource.node(member).isNull
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let path = codingPath + [key]
    guard object != nil else { return try recording.madeUp(type, at: path) }
    if let member = member(key) { return try recording.read(type, .node(member), at: path) }
    if let fragment = type as? any DeferredFragment.Type, let value = try decode(fragment, key) as? Value {
      return value
    }
    try recordMissing(key, readAs: "\(type)")
    return try recording.madeUp(type, at: path)
  }

  /// The deferred fragments of the object that have a label. A client puts a member in their place, also while they are
  /// pending.
  private func deferred(_ label: Key) -> [Selections.Fragment] {
    object?.object.selections.deferred(label.stringValue) ?? []
  }

  /// The deferred fragment with a label, which has its fields in the object; `nil` if the document has no such label.
  private func decode(_ type: any DeferredFragment.Type, _ label: Key) throws -> (any DeferredFragment)? {
    let fragments = deferred(label)
    guard let object = object?.object, !fragments.isEmpty else { return nil }
    let hasArrived = fragments.contains {
      object.selections.operation.applies($0, to: object.type) && !object.pending.contains($0.set)
    }
    guard hasArrived else { return type.notArrived }
    return try type.ready(
      from: RecordingDecoder(recording: recording, source: source, type: "\(type)", codingPath: codingPath + [label]))
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard object != nil else { return nil }
    guard let member = member(key) else {
      if let fragment = type as? any DeferredFragment.Type, let value = try decode(fragment, key) as? Value {
        return value
      }
      try recordMissing(key, readAs: nil)
      return nil
    }
    member.place.isRead = true
    return RecordedSource.node(member).isNull ? nil : try recording.read(type, .node(member), at: codingPath + [key])
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<
    Nested
  > {
    try decoder(key, "an object").container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key, "a list").unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    RecordingDecoder(recording: recording, source: .anything, type: "a superclass", codingPath: codingPath)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key, "a value") }

  private func decoder(_ key: Key, _ type: String) throws -> RecordingDecoder {
    let path = codingPath + [key]
    guard let member = member(key) else {
      try recordMissing(key, readAs: type)
      return RecordingDecoder(recording: recording, source: .anything, type: type, codingPath: path)
    }
    member.place.isRead = true
    return RecordingDecoder(recording: recording, source: .node(member), type: type, codingPath: path)
  }
}

/// The place of an item.
private struct RecordedKey: CodingKey {
  let index: Int

  init(intValue: Int) { index = intValue }
  init?(stringValue: String) { nil }

  var stringValue: String { "\(index)" }
  var intValue: Int? { index }
}

extension String {
  /// A name in `snake_case` as Foundation converts it.
  fileprivate var camelCased: String {
    let start = prefix { $0 == "_" }
    let words = drop { $0 == "_" }.split(separator: "_")
    guard let first = words.first else { return self }
    return start + first.lowercased() + words.dropFirst().map { $0.capitalized }.joined()
  }
}

extension Substring {
  fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst().lowercased() }
}
