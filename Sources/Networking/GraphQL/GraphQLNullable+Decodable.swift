extension GraphQLNullable: Decodable where Value: Decodable {
  /// Decodes `null` or a value. Whether a member is absent, its object tells: a synthesised `init(from:)` keeps absent
  /// members apart from those that are null.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self = container.decodeNil() ? .null : .some(try container.decode(Value.self))
  }
}

extension KeyedDecodingContainer {
  /// Decodes a variable as absent if the object does not have it; a synthesised `init(from:)` calls this for each
  /// ``GraphQLNullable``.
  public func decode<Value: Decodable>(
    _ type: GraphQLNullable<Value>.Type, forKey key: Key
  ) throws -> GraphQLNullable<Value> {
    guard contains(key) else { return .absent }
    return try decodeNil(forKey: key) ? .null : .some(decode(Value.self, forKey: key))
  }
}
