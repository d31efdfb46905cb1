public import GraphQLLanguage

/// A value that does not fit the type of its place.
public struct CoercionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and which variable or argument and which part of it.
  public let message: String

  /// The place in the document: of the variable's definition, or of a literal.
  public let locations: [SourceLocation]

  /// The message.
  public var description: String { message }
}

/// Everything that is wrong with the variables of an operation.
public struct CoercionErrors: Error, Hashable, Sendable, CustomStringConvertible {
  /// The errors, in the order of the variables.
  public let errors: [CoercionError]

  /// The messages, one per line.
  public var description: String { errors.map(\.message).joined(separator: "\n") }
}
