import Foundation

/// How values of a type are read.
///
/// Unchecked, as it holds metatypes, which never change; whoever asks for a type's strategy has that type's conformances.
enum DecodingStrategy: @unchecked Sendable {
  /// By itself, from the bytes.
  case direct(any JSONDecodable.Type)
  /// By its `Decodable` conformance.
  case generic
  /// As an array of strings, which is common.
  case strings
  /// As an array, one element after the other.
  case array(any ArrayOfDecodables.Type)
  /// As an object whose keys are data, not names: no key strategy is for them.
  case dictionary(any StringKeyedDictionary.Type)
  /// By the options.
  case date, data
  /// As a string or a number, whatever its own conformance does.
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
    } else if type == [String].self {
      self = .strings
    } else if let direct = type as? any JSONDecodable.Type, allowsDirect || Self.isOfNoOption(type) {
      self = .direct(direct)
    } else if let array = type as? any ArrayOfDecodables.Type {
      self = .array(array)
    } else if let dictionary = type as? any StringKeyedDictionary.Type {
      self = .dictionary(dictionary)
    } else {
      self = .generic
    }
  }

  private static func isOfNoOption(_ type: Any.Type) -> Bool {
    type == RawJSON.self || type == JSONValue.self || type == Int128.self || type == UInt128.self
  }
}
