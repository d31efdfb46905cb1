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

/// The problems of a schema, up to a limit: nothing is computed for those beyond it.
final class SchemaProblems {
  static let mostErrors = 100
  static let mostWarnings = 1_000

  private(set) var all: [SchemaProblem] = []
  private var errors = 0
  private var warnings = 0

  /// Whether there are so many errors that nothing else is looked for.
  var isFull: Bool { errors > Self.mostErrors }

  /// Adds a problem.
  /// - Parameter document: The number of the document, from 0.
  func add(
    _ severity: SchemaProblem.Severity, _ rule: String, document: Int, _ message: () -> String,
    at locations: () -> [SourceLocation]
  ) {
    let (count, limit) = severity == .error ? (errors, Self.mostErrors) : (warnings, Self.mostWarnings)
    guard count <= limit, !isFull else { return }
    if severity == .error { errors += 1 } else { warnings += 1 }
    if count < limit {
      all.append(
        SchemaProblem(
          severity: severity, rule: rule, message: message(), document: document, locations: locations()))
    } else {
      all.append(
        SchemaProblem(
          severity: severity, rule: "Limit",
          message: "there are more than \(limit) \(severity.rawValue)s; the others are not listed", document: document,
          locations: []))
    }
  }
}
