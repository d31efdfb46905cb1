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

extension GraphQLNullable {
  /// The value if there is one; otherwise `other`, which says whether the variable is absent or null: `title ??
  /// .absent`.
  public static func ?? (value: Value?, other: Self) -> Self { value.map(Self.some) ?? other }
}

/// `nil` would not say which of the two is meant.
@available(*, unavailable, message: "nil does not say whether the variable is absent or null: write .absent or .null")
extension GraphQLNullable: ExpressibleByNilLiteral {
  /// Not a way to make a variable.
  public init(nilLiteral: ()) { self = .absent }
}

extension GraphQLNullable: ExpressibleByUnicodeScalarLiteral where Value: ExpressibleByUnicodeScalarLiteral {
  /// Makes a variable with a value.
  public init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
    self = .some(Value(unicodeScalarLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByExtendedGraphemeClusterLiteral
where Value: ExpressibleByExtendedGraphemeClusterLiteral {
  /// Makes a variable with a value.
  public init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
    self = .some(Value(extendedGraphemeClusterLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
  /// Makes a variable with a value.
  public init(stringLiteral value: Value.StringLiteralType) { self = .some(Value(stringLiteral: value)) }
}

extension GraphQLNullable: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
  /// Makes a variable with a value.
  public init(integerLiteral value: Value.IntegerLiteralType) { self = .some(Value(integerLiteral: value)) }
}

extension GraphQLNullable: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
  /// Makes a variable with a value.
  public init(floatLiteral value: Value.FloatLiteralType) { self = .some(Value(floatLiteral: value)) }
}

extension GraphQLNullable: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
  /// Makes a variable with a value.
  public init(booleanLiteral value: Value.BooleanLiteralType) { self = .some(Value(booleanLiteral: value)) }
}

extension GraphQLNullable: Decodable where Value: Decodable {
  /// Decodes `null` or a value. Whether a member is absent is known to its object: a synthesised `init(from:)` keeps
  /// absent members apart from those that are null.
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
