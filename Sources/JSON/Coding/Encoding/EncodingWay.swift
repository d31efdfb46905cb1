import Foundation

/// How values of a type are written.
///
/// Unchecked, as it holds metatypes, which never change.
enum EncodingWay: @unchecked Sendable {
  /// By itself, into the bytes.
  case direct(any JSONEncodable.Type)
  /// By its `Encodable` conformance.
  case generic
  /// As an object whose keys are data: sorted.
  case dictionary
  /// By the options.
  case date, data
  /// As a string or a number, whatever its own conformance does.
  case url, decimal

  init(_ type: Any.Type, allowDirect: Bool) {
    if type == Date.self {
      self = .date
    } else if type == Data.self {
      self = .data
    } else if type == URL.self {
      self = .url
    } else if type == Decimal.self {
      self = .decimal
    } else if let direct = type as? any JSONEncodable.Type, allowDirect || Self.isOfNoOption(type) {
      self = .direct(direct)
    } else if let dictionary = type as? any SortedMembers.Type, dictionary.areNamed {
      self = .dictionary
    } else {
      self = .generic
    }
  }

  private static func isOfNoOption(_ type: Any.Type) -> Bool {
    type == RawJSON.self || type == PreparedString.self || type == JSONValue.self || type == Int128.self
      || type == UInt128.self
  }
}

/// A dictionary.
protocol SortedMembers {
  /// Whether it is written as an object: its keys are strings, `Int`s, or have coding keys of their own.
  static var areNamed: Bool { get }
  /// Writes the members as an object, sorted by their names. No key strategy is for keys that are strings.
  func encode(by encoder: StreamEncoder) throws
}

extension Dictionary: SortedMembers where Key: Encodable, Value: Encodable {
  static var areNamed: Bool {
    Key.self is any CodingKeyRepresentable.Type
  }

  func encode(by encoder: StreamEncoder) throws {
    encoder.begin(.object)
    if Key.self == String.self {
      // The two types are one.
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
