import JSON

extension GraphQLError: Encodable {
  /// Writes the error in the form of the specification, to relay it or to keep it; empty members are left out.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(message, forKey: .message)
    if !locations.isEmpty { try container.encode(locations, forKey: .locations) }
    if !path.isEmpty { try container.encode(path, forKey: .path) }
    if !extensions.isEmpty { try container.encode(extensions, forKey: .extensions) }
  }
}

extension GraphQLError.PathElement: Encodable {
  /// Writes a member name or a list index.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .key(let key): try container.encode(key)
    case .index(let index): try container.encode(index)
    }
  }
}
