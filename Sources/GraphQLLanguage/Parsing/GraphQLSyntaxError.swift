/// Text that is not GraphQL: where it stops being so, and what was expected there.
///
///     line 3, column 8: expected the name of a field, found "}"
public struct GraphQLSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was expected, and what was found; or which limit is exceeded.
  public let message: String

  /// The place, in the text that was parsed.
  public let location: SourceLocation

  /// Makes an error.
  public init(_ message: String, at location: SourceLocation) {
    self.message = message
    self.location = location
  }

  /// The place and the message, as in `line 3, column 8: expected the name of a field, found "}"`.
  public var description: String { "line \(location.line), column \(location.column): \(message)" }
}

/// What the parser accepts at most, so that no text makes it use much memory or overflow the stack.
public struct SyntaxLimits: Hashable, Sendable {
  /// How many tokens a text may have.
  public var tokens: Int

  /// How deep selection sets, values and types may be nested within one another.
  public let depth: Int

  /// The deepest nesting that `depth` can allow: code that walks a tree may recurse as deep on a small stack.
  public static let greatestDepth = 1000

  /// The limits that are used if none are given; they suit schemas of several thousand types.
  public static let standard = SyntaxLimits()

  /// Makes limits.
  /// - Parameters:
  ///   - tokens: How many tokens a text may have. A token takes at most 24 bytes of the tree.
  ///   - depth: How deep it may be nested, up to `greatestDepth`; more counts as that.
  public init(tokens: Int = 4_000_000, depth: Int = 200) {
    self.tokens = tokens
    self.depth = min(depth, Self.greatestDepth)
  }
}
