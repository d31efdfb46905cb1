import CommandLineBase
import GraphQLCommandLine
import HTTPClientCore
import SystemBase

/// One run of the command.
@main
struct GraphQLCommand {
  let arguments: Arguments
  let console: Console

  static func main() async {
    let console = Console(of: "graphql")
    let exitCode = await console.running {
      let arguments = try Arguments(CommandLine.validArguments())
      return try await GraphQLCommand(arguments: arguments, console: console).run()
    }
    exit(exitCode.rawValue)
  }

  private func run() async throws -> ExitCode {
    if arguments.flags.contains(.help) {
      try console.write(Help.text(for: arguments.command))
      return .success
    }
    if arguments.flags.contains(.version) {
      try console.write("graphql \(SDKVersion.current)\n")
      return .success
    }
    switch arguments.command {
    case .validate: return try validate()
    case .format: return try format()
    case .manifest: return try writeManifest()
    case .generate: return try await generate()
    case .print: return try printSchema()
    case .check: return try checkSchema()
    case .diff: return try compareSchemas()
    case .download: return try await download()
    case nil:
      console.report("graphql: no command is given\n\n" + Help.text(for: nil))
      return .usage
    }
  }
}

/// `generate`.
extension GraphQLCommand {
  private func generate() async throws -> ExitCode {
    var options = GenerateCommand.Options()
    (options.configuration, options.schema, options.output) = (arguments.config, arguments.schema, arguments.output)
    (options.manifest, options.headers, options.files) = (arguments.manifest, arguments.headers, arguments.files)
    options.isCheck = arguments.flags.contains(.check)
    options.isOnce = arguments.flags.contains(.once)
    options.isJSON = arguments.flags.contains(.json)
    options.showsWarnings = !arguments.flags.contains(.noWarnings)
    return try await GenerateCommand(options, console) { endpoint, headers in
      Array(try await downloadedSchema(endpoint, headers).body)
    }.run()
  }
}
