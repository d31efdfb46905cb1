import GraphQLLanguage
import GraphQLSchema
import HTTP
import JSON
import Platform

/// `schema print`, `schema check` and `schema diff`.
extension GraphQLCommand {
  func printSchema() throws -> ExitCode {
    let input = try Input(arguments.files[0])
    return try reportingSchema {
      let schema = try schema(input)
      if arguments.flags.contains(.json) {
        console.write(String(decoding: try schema.introspection().json(), as: UTF8.self) + "\n")
      } else {
        console.write(schema.printed(arguments.flags.contains(.sort) ? .sorted : .asWritten) + "\n")
      }
      return .success
    }
  }

  func checkSchema() throws -> ExitCode {
    let input = try Input(arguments.files[0])
    return try reportingSchema {
      let problems = try schema(input).problems
      report(Finding.findings(problems, in: input))
      return problems.contains { $0.severity == .error } ? .invalid : .success
    }
  }

  /// A change, with the operations that feel it.
  private struct Change: Encodable {
    let impact: String
    let coordinate: String
    let message: String
    let operations: [Operation]
  }

  private struct Operation: Encodable {
    let file: String
    let line: Int
    let name: String
  }

  func compareSchemas() throws -> ExitCode {
    let all = try inputs(arguments.files)
    return try reportingSchema {
      let (old, new) = (try schema(all[0]), try schema(all[1]))
      var documents: [(input: Input, document: DocumentSyntax)] = []
      for input in all.dropFirst(2) {
        do throws(GraphQLSyntaxError) {
          documents.append((input, try DocumentSyntax(parsing: input.bytes)))
        } catch {
          throw Unreadable(finding: Finding(error, in: input))
        }
      }
      let changes = old.changes(to: new)
      let listed = changes.map { change in
        Change(
          impact: change.impact.rawValue, coordinate: change.coordinate, message: change.message,
          operations: documents.flatMap { input, document in
            old.operations(in: document, feeling: change).map { operation in
              Operation(
                file: input.name, line: operation.location.line,
                name: "\(operation.kind.rawValue) \(operation.name?.text ?? "without a name")")
            }
          })
      }
      if arguments.flags.contains(.json) {
        printJSON(listed)
      } else {
        console.write(zip(changes, listed).map { text($0.impact, $1) }.joined())
      }
      return changes.contains { $0.impact == .breaking } ? .invalid : .success
    }
  }

  private func text(_ impact: SchemaChange.Impact, _ change: Change) -> String {
    let ink: Console.Ink =
      switch impact {
      case .breaking: .red
      case .dangerous: .yellow
      case .safe: .green
      }
    let verb = impact == .breaking ? "breaks" : "concerns"
    let operations = change.operations.map { "    \(verb) \($0.name) (\($0.file):\($0.line))\n" }.joined()
    return "\(console.paint(change.impact + ":", ink)) \(change.message.sanitized())\n" + operations
  }
}
