import BenchmarkSupport
import Foundation

/// Measures WebSocket clients against a server in another process, interleaved in one run.
///
///     LiveBenchmarks [ROUNDS]                                     prints the table; ends with 1 where a floor is missed
///     LiveBenchmarks server                                       is the server
///     LiveBenchmarks client NAME receive|echo|open URL KIND COUNT is a client, and prints what it measured
@main
enum Main {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    switch arguments.first {
    case "server": try LiveServer.run()
    case "client": try await client(arguments)
    default: try Comparison(rounds: Int(arguments.first ?? "") ?? 5).run()
    }
  }

  private static func client(_ arguments: [String]) async throws {
    guard arguments.count == 6, let client = Client(rawValue: arguments[1]), let url = URL(string: arguments[3]),
      let kind = Kind(rawValue: arguments[4]), let count = Int(arguments[5])
    else { exit(64) }
    var result = Result()
    switch arguments[2] {
    case "open":
      let first = try await client.open(1, at: url)
      let before = residentMemory()
      let connections = try await client.open(count, at: url)
      result.memory = (residentMemory() - before) * 1_048_576 / Double(count)
      withExtendedLifetime((first, connections)) {}
    case let work:
      let (start, begin) = (ContinuousClock.now, processorTime())
      if work == "echo" {
        try await client.echo(count, String(repeating: "x", count: 30), at: url)
      } else {
        guard try await client.receive(kind, from: url) == count else { exit(70) }
      }
      result.processor = (processorTime() - begin) / Double(count) * 1e6
      result.rate = Double(count) / ((.now - start) / .seconds(1))
    }
    print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
  }
}
