public import GraphQLLanguage

/// Why nothing is generated, or what is to be noted.
public struct GenerationProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// How much it matters.
  public enum Severity: String, Hashable, Sendable {
    /// Nothing is generated.
    case error
    /// Everything is generated.
    case warning
  }

  /// How much it matters.
  public let severity: Severity

  /// The rule of the specification that is broken, if it is one, by the name that graphql-js gives it.
  public let rule: String?

  /// What is wrong, and what to do.
  public let message: String

  /// The file, as it was called.
  public let file: String

  /// The place in the file, if it has one.
  public let location: SourceLocation?

  /// Makes a problem.
  public init(
    _ message: String, in file: String, at location: SourceLocation? = nil, rule: String? = nil,
    severity: Severity = .error
  ) {
    (self.message, self.file, self.location, self.rule, self.severity) = (message, file, location, rule, severity)
  }

  /// `FILE:LINE:COLUMN: error: MESSAGE [Rule]`.
  public var description: String {
    let place = location.map { "\(file):\($0)" } ?? file
    return "\(place): \(severity.rawValue): \(message)" + (rule.map { " [\($0)]" } ?? "")
  }
}

/// The problems because of which nothing is generated.
public struct GenerationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problems, at least one of which is an error.
  public let problems: [GenerationProblem]

  /// The problems, one a line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
