public import GraphQLLanguage

/// A part of a document that breaks a rule.
public struct ValidationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The rule that is broken; `nil` if validation stopped at a limit.
  public let rule: ValidationRule?

  /// What is wrong, and what may be meant.
  public let message: String

  /// The places in the document, as graphql-js gives them.
  public let locations: [SourceLocation]

  /// `LINE:COLUMN: MESSAGE [Rule]`.
  public var description: String {
    let place = locations.first.map { "\($0): " } ?? ""
    return place + message + (rule.map { " [\($0.rawValue)]" } ?? "")
  }
}

extension Schema {
  /// Checks an executable document against the schema.
  ///
  /// The time grows about linearly with the size of the document: work that could grow faster, through fragments that
  /// spread fragments, is limited, and an error without a rule says so.
  ///
  /// - Parameters:
  ///   - document: The document, of any number of operations and fragments.
  ///   - rules: The rules to check; all, if none are given.
  ///   - limit: How many errors to return at most; one more without a rule says that there are others.
  /// - Returns: What is wrong, in the order of the places; nothing if the document is valid.
  public func validate(
    _ document: DocumentSyntax, rules: Set<ValidationRule>? = nil, limit: Int = 100
  ) -> [ValidationError] {
    let context = ValidationContext(self, document, rules: rules, limit: limit)
    context.validate()
    return context.sortedErrors
  }
}
