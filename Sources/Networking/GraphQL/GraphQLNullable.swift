/// A variable that may be absent, null, or a value, which are three different things (GraphQL specification, section
/// 2.9.5).
///
///     struct Variables: Encodable, Sendable {
///       var title: GraphQLNullable<String> = .absent
///     }
///     Variables(title: "Tea")              // or .null, or .some(title)
///     Variables(title: title ?? .absent)   // of an optional
public enum GraphQLNullable<Value: Encodable & Sendable>: Sendable {
  /// Not sent: the server's default applies.
  case absent
  /// Sent as `null`.
  case null
  /// Sent as this value.
  case some(Value)
}

extension GraphQLNullable: Equatable where Value: Equatable {}
extension GraphQLNullable: Hashable where Value: Hashable {}

extension GraphQLNullable: Encodable {
  /// Encodes the value, or `null`. Throws for an absent variable: only a member of an object can be left out, and only
  /// if its type is written there, as in the example; to send `null` instead would delete what was to stay.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .absent:
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "an absent variable cannot be left out here"))
    case .null: try container.encodeNil()
    case .some(let value): try container.encode(value)
    }
  }
}

extension KeyedEncodingContainer {
  /// Leaves out an absent variable; a synthesised `encode(to:)` calls this for each ``GraphQLNullable``.
  public mutating func encode<Value>(_ variable: GraphQLNullable<Value>, forKey key: Key) throws {
    switch variable {
    case .absent: break
    case .null: try encodeNil(forKey: key)
    case .some(let value): try encode(value, forKey: key)
    }
  }
}
