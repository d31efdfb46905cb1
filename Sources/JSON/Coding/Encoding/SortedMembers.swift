/// A dictionary.
protocol SortedMembers {
  /// Whether it is written as an object: if its keys are strings, `Int`s, or `CodingKeyRepresentable`.
  static var areNamed: Bool { get }
  /// Writes the members as an object, sorted by name. The key strategy does not apply to keys that are strings.
  func encode(by encoder: StreamEncoder) throws
}

extension Dictionary: SortedMembers where Key: Encodable, Value: Encodable {
  static var areNamed: Bool {
    Key.self is any CodingKeyRepresentable.Type
  }

  func encode(by encoder: StreamEncoder) throws {
    encoder.begin(.object)
    if Key.self == String.self {
      // The cast is safe: the two types are the same.
      for (key, value) in unsafeBitCast(self, to: [String: Value].self).sorted(by: { $0.key < $1.key }) {
        try encoder.encodeMember(value, name: key, key: JSONKey(stringValue: key))
      }
      return
    }
    let members = compactMap { key, value in (key as? any CodingKeyRepresentable).map { (key: $0.codingKey, value) } }
    for (key, value) in members.sorted(by: { $0.key.stringValue < $1.key.stringValue }) {
      try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
    }
  }
}
