import GraphQLCommandLine
import GraphQLLanguage
import GraphQLSchema
import HTTPClientCore
import StrictJSON

/// What commands print of findings, and what keeps files from being used.
extension GraphQLCommand {
  /// Prints findings, for people or as JSON, and their number beside the results; returns the exit code for them.
  @discardableResult
  func report(_ findings: [Finding], of what: String? = nil) throws(Failure) -> ExitCode {
    let errors = findings.count { $0.severity == .error }
    let isQuiet = arguments.flags.contains(.noWarnings)
    let shown = isQuiet ? findings.filter { $0.severity == .error } : findings
    if arguments.flags.contains(.json) {
      try console.writeJSON(shown)
    } else {
      var lines = LineCache()
      try console.write(shown.map { $0.text(console.style, &lines) }.joined())
    }
    if let what {
      let count = "\(counted(errors, "error")), \(counted(findings.count - errors, "warning"))"
      console.report("\(what): \(count)\(shown.count < findings.count ? ", which are left out" : "")".sanitized())
    }
    return errors > 0 ? .invalid : .success
  }

  /// Reads a schema: SDL, or the JSON of an introspection.
  func schema(_ input: Input) throws -> Schema {
    do {
      return try Schema(reading: input.bytes)
    } catch let error as GraphQLSyntaxError {
      throw Unreadable(findings: [Finding(error, in: Source(input))])
    } catch let error as JSONError {
      throw Failure(exitCode: .invalid, message: "\(input.name): this is no introspection: \(error)")
    }
  }

  /// What keeps files from being used.
  struct Unreadable: Error {
    let findings: [Finding]
  }

  /// Prints what keeps files from being used.
  func reportingUnreadable(_ body: () throws -> ExitCode) throws -> ExitCode {
    do {
      return try body()
    } catch let error as Unreadable {
      try report(error.findings)
      return .invalid
    }
  }
}
