public import GraphQLLanguage

/// A fault of a schema.
public struct SchemaProblem: Hashable, Sendable, CustomStringConvertible {
  /// How much a fault matters.
  public enum Severity: String, Hashable, Sendable {
    /// The schema cannot be used as it stands: parts of it are missing, or mean nothing.
    case error
    /// The schema breaks the specification, but it is clear what is meant, and it is used that way.
    case warning
  }

  /// How much it matters.
  public let severity: Severity

  /// The rule that is broken, by the name that graphql-js gives it; or a name in the same style for a rule that has none
  /// there.
  public let rule: String

  /// What is wrong, and where.
  public let message: String

  /// Which of the documents that the schema was made from it is in, from 0.
  public let document: Int

  /// The places in the document, the most telling first.
  public let locations: [SourceLocation]

  /// `warning: MESSAGE [Rule] (LINE:COLUMN)`.
  public var description: String {
    let place = locations.first.map { " (\($0))" } ?? ""
    return "\(severity.rawValue): \(message) [\(rule)]\(place)"
  }
}
