import Foundation

/// How values of a type are read.
enum DecodingWay {
  /// By itself, from the bytes.
  case direct(any JSONDecodable.Type)
  /// By its `Decodable` conformance.
  case generic
  /// As an object whose keys are data, not names: no key strategy is for them.
  case dictionary(any StringKeyedDictionary.Type)
  /// By the options.
  case date, data
  /// As a text or a number, whatever its own conformance does.
  case url, decimal

  init<Value: Decodable>(_ type: Value.Type, options: JSONCoder.Options) {
    if type == Date.self {
      self = .date
    } else if type == Data.self {
      self = .data
    } else if type == URL.self {
      self = .url
    } else if type == Decimal.self {
      self = .decimal
    } else if options.allowsDirectWay, let direct = type as? any JSONDecodable.Type {
      self = .direct(direct)
    } else if let dictionary = type as? any StringKeyedDictionary.Type {
      self = .dictionary(dictionary)
    } else {
      self = .generic
    }
  }
}

/// A dictionary with texts for keys.
protocol StringKeyedDictionary {
  /// Reads the members of an object.
  static func decode(from decoder: TapeDecoder) throws -> Self
}

extension Dictionary: StringKeyedDictionary where Key == String, Value: Decodable {
  static func decode(from decoder: TapeDecoder) throws -> [String: Value] {
    let members = try decoder.members(for: [String: Value].self)
    var result = Self(minimumCapacity: members.count)
    for member in members {
      let key = decoder.document.string(decoder.document.tape[member])
      result[key] = try decoder.decodeValue(Value.self, at: member + 1, step: .member(member))
    }
    return result
  }
}
