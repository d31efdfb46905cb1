import CommandLineBase
import HTTPClientCore
import SystemBase

/// One run of the command.
@main
struct GraphQLCommand {
  let arguments: Arguments
  let console: Console

  /// The exit codes: those of BSD's sysexits.h.
  enum ExitCode: Int32, Error {
    case success = 0
    /// The command line is wrong.
    case usage = 64
    /// What was given is not valid, or breaks something.
    case invalid = 65
    /// A file cannot be read.
    case noInput = 66
    /// The server was not reached.
    case unreachable = 69
    /// A file cannot be opened to be written, or may not be.
    case cannotWrite = 73
    /// The output failed, as on a full device.
    case outputFailed = 74
  }

  /// Ends the run with a message.
  struct Failure: Error {
    let exitCode: ExitCode
    let message: String
  }

  static func main() async {
    let console = Console(environment: ProcessInfo.processInfo.environment)
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      exit(try await GraphQLCommand(arguments: arguments, console: console).run().rawValue)
    } catch let error as UsageError {
      console.report("graphql: \(error.message.sanitized(upTo: 2_000))")
      exit(ExitCode.usage.rawValue)
    } catch let error as Failure {
      console.report("graphql: \(error.message.sanitized(upTo: 2_000))")
      exit(error.exitCode.rawValue)
    } catch {
      console.report("graphql: \("\(error)".sanitized(upTo: 2_000))")
      exit(ExitCode.invalid.rawValue)
    }
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
