extension SessionCheck {
  /// A place where a session and a schema do not agree.
  public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// How bad it is.
    public enum Severity: String, Hashable, Sendable, Comparable {
      /// It fails as soon as the schema changes in a way that servers are free to, or something is of no use.
      case warning
      /// A correct server's response fails, or the server refuses the request.
      case error

      /// Whether a severity is less than another.
      public static func < (left: Severity, right: Severity) -> Bool { left == .warning && right == .error }
    }

    /// How bad it is.
    public var severity: Severity

    /// The place: `data.user.friends[].name`, `variables.id`, or `query` for the document.
    public let path: String

    /// What does not agree.
    public let message: String

    /// What the server chose when it was found, such as `data.user.nickname is null`; `nil` if any response shows it.
    public internal(set) var condition: String?

    /// A response that a correct server may send and that fails, or of which it is true: the usual one if that does, and
    /// else the shortest. It is JSON of the whole body. Findings about documents and variables have none.
    public internal(set) var witness: String?

    /// One line: the severity, the path, the message, the condition, and the witness.
    public var description: String {
      var text = "\(severity.rawValue) \(path): \(message)"
      if let condition { text += " [when \(condition)]" }
      if let witness { text += ", as in \(witness)" }
      return text
    }
  }

  /// What a check found, and how far it went.
  public struct Report: Hashable, Sendable {
    /// Where the session and the schema do not agree: errors first, in the order in which they were found.
    public internal(set) var findings: [Finding] = []

    /// What was not explored, such as the form of a scalar that nothing is known of.
    public internal(set) var unexplored: [String] = []

    /// How many responses were made up and decoded.
    public internal(set) var responses = 0
  }
}

extension SessionCheck.Report: CustomStringConvertible {
  /// The findings, one per line, then what was not explored, and the number of responses.
  public var description: String {
    let lines = findings.map(\.description) + unexplored.map { "not explored: \($0)" } + ["responses: \(responses)"]
    return lines.joined(separator: "\n")
  }
}
