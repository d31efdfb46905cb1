import CommandLineBase
import GraphQLCommandLine
import SystemBase

/// `graphql generate` by itself, for the plugins: each package that uses one builds it, so that it links nothing that
/// sends requests.
@main
struct GenerateTool {
  private enum Option: String, CommandOption {
    case help, check, once, json
    case noWarnings = "no-warnings"
    case config, schema, output, manifest

    var takesValue: Bool {
      switch self {
      case .help, .check, .once, .json, .noWarnings: false
      case .config, .schema, .output, .manifest: true
      }
    }

    var isRepeatable: Bool { !takesValue }
  }

  private static let help = """
    Writes a session for each operation, in Swift, as graphql generate does, but asks no server for a schema.

    Usage: graphql-generate [--config FILE] [--schema SCHEMA] [--output FOLDER] [--manifest FILE]
                            [--check] [--once] [--no-warnings] [--json] [FILE...]

    graphql generate --help describes the options.

    """

  static func main() async {
    let console = Console(of: "graphql-generate")
    let exitCode = await console.running {
      guard let options = try options(CommandLine.validArguments()) else {
        try console.write(help)
        return .success
      }
      return try await GenerateCommand(options, console) { endpoint, _ in
        throw Failure(
          exitCode: .usage,
          message: "the schema is at \(endpoint.endpointShownSafely), which is not asked here: "
            + "write it to a file with graphql schema download, and name that")
      }.run()
    }
    exit(exitCode.rawValue)
  }

  /// What the command line says; `nil` if it asks for help.
  private static func options(_ arguments: [String]) throws(UsageError) -> GenerateCommand.Options? {
    var scanner = ArgumentScanner<Option>(arguments, of: "graphql-generate")
    var options = GenerateCommand.Options()
    while let token = try scanner.next() {
      switch token {
      case .positional(let file): options.files.append(file)
      case .option(.help, _): return nil
      case .option(.check, _): options.isCheck = true
      case .option(.once, _): options.isOnce = true
      case .option(.json, _): options.isJSON = true
      case .option(.noWarnings, _): options.showsWarnings = false
      case .option(.config, let file): options.configuration = file
      case .option(.schema, let file): options.schema = file
      case .option(.output, let folder): options.output = folder
      case .option(.manifest, let file): options.manifest = file
      }
    }
    return options
  }
}
