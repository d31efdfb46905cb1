import Foundation

/// How values of a type are written.
///
/// Unchecked, as it holds metatypes, which never change.
enum EncodingWay: @unchecked Sendable {
  /// By itself, into the bytes.
  case direct(any JSONEncodable.Type)
  /// By its `Encodable` conformance.
  case generic
  /// As an object whose keys are data, not names: sorted, and no key strategy is for them.
  case dictionary
  /// By the options.
  case date, data
  /// As a text or a number, whatever its own conformance does.
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
    } else if type is any StringKeyedMembers.Type {
      self = .dictionary
    } else {
      self = .generic
    }
  }

  private static func isOfNoOption(_ type: Any.Type) -> Bool {
    type == RawJSON.self || type == PreparedString.self
  }
}

/// A dictionary with texts for keys.
protocol StringKeyedMembers {
  /// Writes the members as an object, sorted by their keys.
  func encode(by encoder: StreamEncoder) throws
}

extension Dictionary: StringKeyedMembers where Key == String, Value: Encodable {
  func encode(by encoder: StreamEncoder) throws {
    encoder.begin(.object)
    for (key, value) in sorted(by: { $0.key < $1.key }) {
      try encoder.encodeMember(value, name: key, key: JSONKey(stringValue: key))
    }
  }
}
