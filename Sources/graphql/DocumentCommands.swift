import GraphQLCommandLine
import GraphQLLanguage
import GraphQLSchema
import HTTPClientCore
import SystemBase

/// `validate` and `format`.
extension GraphQLCommand {
  func validate() throws -> ExitCode {
    let path = arguments.schema ?? "-"
    let input = try Input(path)
    let inputs = try console.inputs(arguments.files, endings: Documents.endings, without: [path])
    return try reportingUnreadable {
      let schema = try schema(input)
      let errors = schema.problems.count { $0.severity == .error }
      if errors > 0 {
        let name = input.name.sanitized()
        console.report("graphql: \(name) has \(counted(errors, "error")) of its own: see graphql schema check")
      }
      let documents = Documents(inputs, isSeparate: arguments.flags.contains(.separately))
      return try report(documents.validated(by: schema), of: documents.summary)
    }
  }

  func format() throws -> ExitCode {
    var exitCode = ExitCode.success
    var unformatted = 0
    let inputs = try console.inputs(arguments.files, endings: ["graphql", "gql", "graphqls"])
    for input in inputs {
      let printed: String
      do throws(GraphQLSyntaxError) {
        printed = try DocumentSyntax(parsing: input.bytes).printed(keepingComments: true) + "\n"
      } catch {
        try report([Finding(error, in: Source(input))])
        exitCode = .invalid
        continue
      }
      let isFormatted = Array(printed.utf8) == input.bytes
      if !isFormatted { unformatted += 1 }
      if arguments.flags.contains(.check) {
        guard !isFormatted else { continue }
        try console.write("\(input.name.sanitized()) is not formatted\n")
        exitCode = .invalid
      } else if input.isStandardInput || !isFormatted {
        try write(printed, to: input.isStandardInput ? "-" : input.name)
      }
    }
    if !inputs.contains(where: \.isStandardInput) {
      let isCheck = arguments.flags.contains(.check)
      console.report("\(isCheck ? "not formatted" : "formatted"): \(unformatted) of \(counted(inputs.count, "file"))")
    }
    return exitCode
  }
}
