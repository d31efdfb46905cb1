import GraphQLClient
import HTTPClientCore
import Stores
import Streams
import SystemBase

@main
struct Program {
  static func main() async {
    do {
      let environment = ProcessInfo.processInfo.environment
      let settings = try Settings(CommandLine.arguments.dropFirst(), environment)
      try await run(settings, on: settings.transport()) { line in
        print(line)
        fflush(nil)
      }
    } catch {
      let line = Array("starter: \(error)\n".utf8)
      _ = write(STDERR_FILENO, line, line.count)
      exit(error is SettingsError ? EX_USAGE : EXIT_FAILURE)
    }
  }

  /// Does what the command says.
  static func run(
    _ settings: Settings, on transport: any HTTPTransport, print: @escaping @Sendable (String) -> Void
  ) async throws {
    let parcels = try settings.parcels(on: transport)
    switch settings.command {
    case .list:
      for parcel in try await parcels.fetch() { print(parcel.line) }
    case .deliver(let id):
      print(try await parcels.deliver(id) ? "\(id) is delivered." : "\(id) will be, when there is a network.")
    case .watch:
      for try await list in parcels.live.values {
        for parcel in list { print(parcel.line) }
        print("")
      }
    }
    await parcels.close()
  }
}

extension Parcel {
  /// The parcel in one line. It is the text of others, which may not control the terminal.
  var line: String { "\(id)  \(state.rawValue)  for \(recipient)".sanitized(upTo: 200) }
}
