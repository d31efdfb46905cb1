import SystemBase

/// How to read values of a type.
///
/// `@unchecked Sendable`: it holds metatypes, which never change; only code with the type's conformances asks for its
/// strategy.
enum DecodingStrategy: @unchecked Sendable {
  /// By its `JSONDecodable` conformance, from the bytes.
  case direct(any JSONDecodable.Type)
  /// By its `Decodable` conformance.
  case generic
  /// By its `Decodable` conformance, from a name: enums compare their raw values.
  case name
  /// As an array of strings, which is a common case.
  case strings
  /// As a set of names.
  case names
  /// As an array, one element after another.
  case array(any ArrayOfDecodables.Type)
  /// As an object whose keys are data, not names: the key strategy does not apply to them.
  case dictionary(any StringKeyedDictionary.Type)
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
    } else if type == [String].self {
      self = .strings
    } else if let direct = type as? any JSONDecodable.Type, allowsDirect || Self.isOfNoOption(type) {
      self = .direct(direct)
    } else if type == Set<String>.self {
      self = .names
    } else if let array = type as? any ArrayOfDecodables.Type {
      self = .array(array)
    } else if let dictionary = type as? any StringKeyedDictionary.Type {
      self = .dictionary(dictionary)
    } else if let wrapper = type as? any RawRepresentable.Type, Self.hasStrings(wrapper) {
      self = .name
    } else {
      self = .generic
    }
  }

  private static func hasStrings<Wrapper: RawRepresentable>(_ type: Wrapper.Type) -> Bool {
    Wrapper.RawValue.self == String.self
  }

  private static func isOfNoOption(_ type: Any.Type) -> Bool {
    type == RawJSON.self || type == PaddedBytes.self || type == JSONValue.self || type == JSONNumber.self
      || type == Int128.self || type == UInt128.self
  }
}

/// An array whose elements can be decoded.
protocol ArrayOfDecodables {
  /// Reads the elements of an array.
  static func decode(from decoder: TapeDecoder) throws -> Self
}

extension Array: ArrayOfDecodables where Element: Decodable {
  static func decode(from decoder: TapeDecoder) throws -> [Element] {
    guard decoder.token.kind == .array else {
      throw decoder.mismatch([Element].self, "an array", at: decoder.place, step: nil)
    }
    let count = Int(decoder.token.count)
    var elements: [Element] = []
    // The count comes from the text, so it is not trusted for more than this.
    elements.reserveCapacity(Swift.min(count, 1024))
    var place = decoder.place + 1
    for index in 0..<count {
      elements.append(try decoder.decodeValue(Element.self, at: place, step: .element(index)))
      place = Int(decoder.document.tape[place].next)
    }
    return elements
  }
}

/// A dictionary with string keys.
protocol StringKeyedDictionary {
  /// Reads the members of an object.
  static func decode(from decoder: TapeDecoder) throws -> Self
}

extension Dictionary: StringKeyedDictionary where Key == String, Value: Decodable {
  static func decode(from decoder: TapeDecoder) throws -> [String: Value] {
    guard decoder.token.kind == .object else {
      throw decoder.mismatch([String: Value].self, "an object", at: decoder.place, step: nil)
    }
    var result: Self = [:]
    for member in decoder.members {
      let key = decoder.document.string(decoder.document.tape[member])
      result[key] = try decoder.decodeValue(Value.self, at: member + 1, step: .member(member))
    }
    return result
  }
}
