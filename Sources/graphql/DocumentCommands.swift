import GraphQLLanguage
import GraphQLSchema
import Platform

/// `validate` and `format`.
extension GraphQLCommand {
  func validate() throws -> ExitCode {
    let schemaPath = arguments.schema ?? "-"
    let all = try inputs([schemaPath] + arguments.files)
    return try reportingSchema {
      let schema = try schema(all[0])
      let errors = schema.problems.filter { $0.severity == .error }.count
      if errors > 0 {
        console.complain("graphql: \(all[0].name) has \(errors) errors of its own: see graphql schema check")
      }
      let findings = all.dropFirst().flatMap { input -> [Finding] in
        do throws(GraphQLSyntaxError) {
          return Finding.findings(schema.validate(try DocumentSyntax(parsing: input.bytes)), in: input)
        } catch {
          return [Finding(error, in: input)]
        }
      }
      report(findings)
      return findings.isEmpty ? .success : .invalid
    }
  }

  func format() throws -> ExitCode {
    var exitCode = ExitCode.success
    for (path, input) in zip(arguments.files, try inputs(arguments.files)) {
      let printed: String
      do throws(GraphQLSyntaxError) {
        printed = try DocumentSyntax(parsing: input.bytes).printed(keepingComments: true) + "\n"
      } catch {
        report([Finding(error, in: input)])
        exitCode = .invalid
        continue
      }
      let isFormatted = Array(printed.utf8) == input.bytes
      if arguments.flags.contains(.check) {
        guard !isFormatted else { continue }
        console.write("\(input.name) is not formatted\n")
        exitCode = .invalid
      } else if path == "-" {
        console.write(printed)
      } else if !isFormatted {
        try write(Data(printed.utf8), to: path)
      }
    }
    return exitCode
  }

  func write(_ data: Data, to path: String) throws(Failure) {
    if path == "-" { return console.write(String(decoding: data, as: UTF8.self)) }
    do {
      try data.write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw Failure(exitCode: .cannotWrite, message: "\(path): it cannot be written")
    }
  }
}
