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
