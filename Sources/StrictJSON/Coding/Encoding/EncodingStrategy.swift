import SystemBase

/// How to write values of a type.
///
/// `@unchecked Sendable`: it holds metatypes, which never change.
enum EncodingStrategy: @unchecked Sendable {
  /// By its `JSONEncodable` conformance, into the bytes.
  case direct(any JSONEncodable.Type)
  /// By its `Encodable` conformance.
  case generic
  /// As an object whose keys are data, sorted by key.
  case dictionary
  /// By the coder's options.
  case date, data
  /// As a string or a number, regardless of the type's own conformance.
  case url, decimal

  init(_ type: Any.Type, allowsDirect: Bool) {
    if type == Date.self {
      self = .date
    } else if type == Data.self {
      self = .data
    } else if type == URL.self {
      self = .url
    } else if type == Decimal.self {
      self = .decimal
    } else if let direct = type as? any JSONEncodable.Type, allowsDirect || Self.isOfNoOption(type) {
      self = .direct(direct)
    } else if let dictionary = type as? any SortedMembers.Type, dictionary.areNamed {
      self = .dictionary
    } else {
      self = .generic
    }
  }

  private static func isOfNoOption(_ type: Any.Type) -> Bool {
    type == RawJSON.self || type == PreparedString.self || type == JSONValue.self || type == JSONNumber.self
      || type == Int128.self || type == UInt128.self
  }
}
