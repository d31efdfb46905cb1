extension GraphQLNullable {
  /// The value if there is one; otherwise `other`, which says whether the variable is absent or null: `title ??
  /// .absent`.
  public static func ?? (value: Value?, other: Self) -> Self { value.map(Self.some) ?? other }
}

// No `ExpressibleByNilLiteral`: `nil` would not say whether the variable is absent or null.

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
