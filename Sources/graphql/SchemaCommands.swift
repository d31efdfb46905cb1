import CommandLineBase
import GraphQLCommandLine
import GraphQLLanguage
import GraphQLSchema
import HTTPClientCore
import StrictJSON
import SystemBase

/// `schema print`, `schema check` and `schema diff`.
extension GraphQLCommand {
  func printSchema() throws -> ExitCode {
    let input = try Input(arguments.files[0])
    return try reportingUnreadable {
      let schema = try schema(input)
      if arguments.flags.contains(.json) {
        try console.writeJSON(Data(schema.introspection().json()))
      } else {
        try console.write(schema.printed(arguments.flags.contains(.sort) ? .sorted : .asWritten) + "\n")
      }
      return .success
    }
  }

  func checkSchema() throws -> ExitCode {
    let input = try Input(arguments.files[0])
    return try reportingUnreadable {
      try report(schema(input).problems.map { Finding($0, in: input) }, of: input.name)
    }
  }

  /// A change, with the operations that are affected by it.
  private struct Change: Encodable {
    let impact: String
    let coordinate: String
    let message: String
    let operations: [Operation]
  }

  private struct Operation: Encodable, Hashable {
    let file: String
    let line: Int
    let name: String

    init(_ operation: OperationSyntax, _ place: Place) {
      (file, line) = (place.input.name, place.location.line)
      name = "\(operation.kind.rawValue) \(operation.name?.text ?? "without a name")"
    }
  }

  func compareSchemas() throws -> ExitCode {
    let schemas = Array(arguments.files.prefix(2))
    let inputs = try schemas.map { path throws(Failure) in try Input(path) }
    let files = try console.inputs(Array(arguments.files.dropFirst(2)), endings: Documents.endings, without: schemas)
    return try reportingUnreadable {
      let (old, new) = (try schema(inputs[0]), try schema(inputs[1]))
      let documents = Documents(files, isSeparate: arguments.flags.contains(.separately))
      let wholes = try self.wholes(documents)
      let changes = old.changes(to: new)
      let users = old.operations(among: wholes.map(\.syntax), affectedBy: changes)
      let listed = zip(changes, users).map { change, users in
        Change(
          impact: change.impact.rawValue, coordinate: change.coordinate, message: change.message,
          operations: users.map { Operation($0.operation, wholes[$0.document].place($0.operation.location)) })
      }
      if arguments.flags.contains(.json) {
        try console.writeJSON(listed)
      } else {
        try console.write(zip(changes, listed).map { text($0.impact, $1) }.joined())
      }
      let counts = [SchemaChange.Impact.breaking, .dangerous, .safe].map { impact in
        "\(changes.count { $0.impact == impact }) \(impact.rawValue)"
      }
      let concerned = Set(listed.flatMap(\.operations)).count
      console.report(
        "\(counts.joined(separator: ", "))"
          + (files.isEmpty ? "" : "; of \(documents.summary), \(concerned) are affected"))
      return changes.contains { $0.impact == .breaking } ? .invalid : .success
    }
  }

  /// The documents with all fragments that they use. It throws if one is missing, since then a change would not be
  /// traced to the operations that are affected by it.
  private func wholes(_ documents: Documents) throws -> [Documents.Whole] {
    var (wholes, findings) = ([Documents.Whole](), documents.findings)
    for index in documents.all.indices {
      do throws(GraphQLSyntaxError) {
        let (whole, uses) = try documents.whole(index)
        wholes.append(whole)
        findings += uses.missing + uses.ambiguous
      } catch {
        findings.append(Finding(error, in: documents.all[index].source))
      }
    }
    if findings.contains(where: { $0.severity == .error }) { throw Unreadable(findings: findings) }
    console.report(findings)
    return wholes
  }

  private func text(_ impact: SchemaChange.Impact, _ change: Change) -> String {
    let ink: Style.Ink =
      switch impact {
      case .breaking: .red
      case .dangerous: .yellow
      case .safe: .green
      }
    let verb = impact == .breaking ? "breaks" : "concerns"
    let operations = change.operations.map { "    \(verb) \($0.name) (\($0.file.sanitized()):\($0.line))\n" }
    return "\(console.style.paint(change.impact + ":", ink)) \(change.message.sanitized())\n" + operations.joined()
  }
}
