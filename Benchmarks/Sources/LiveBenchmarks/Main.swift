import BenchmarkSupport
import Foundation

/// Measures WebSocket clients against a server in another process, interleaved in one run, many subscriptions on one
/// WebSocket, and responses in very many pieces.
///
///     LiveBenchmarks [ROUNDS]                        prints the tables; ends with 1 where a floor is missed
///     LiveBenchmarks server CERTIFICATE KEY          is the server
///     LiveBenchmarks client NAME receive|echo|open URL KIND COUNT CERTIFICATE
///                                                    is a client, and prints what it measured
///     LiveBenchmarks pieces [ROUNDS]                 measures the last alone
///     LiveBenchmarks subscriptions COUNT             is a client with so many subscriptions, and prints the same
@main
enum Main {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    switch arguments.first {
    case "server" where arguments.count == 3: try LiveServer.run(certificate: arguments[1], key: arguments[2])
    case "client": try await client(arguments)
    case "pieces": if try await !LongResponses.compare(rounds: Int(arguments.last ?? "") ?? 5) { exit(1) }
    case "subscriptions": try show(await ManySubscriptions.measure(Int(arguments.last ?? "") ?? 10_000))
    default:
      let rounds = Int(arguments.first ?? "") ?? 5
      let areReached = [
        try Comparison(rounds: rounds).run(), try ManySubscriptions.compare(rounds: rounds),
        try await LongResponses.compare(rounds: rounds),
      ]
      if areReached.contains(false) { exit(1) }
    }
  }

  private static func client(_ arguments: [String]) async throws {
    guard arguments.count == 7, let client = Client(rawValue: arguments[1]), let url = URL(string: arguments[3]),
      let kind = Kind(rawValue: arguments[4]), let count = Int(arguments[5])
    else { exit(64) }
    var result = Result()
    switch arguments[2] {
    case "open":
      let first = try await client.open(1, at: url, trusting: arguments[6])
      let before = residentMemory()
      let connections = try await client.open(count, at: url, trusting: arguments[6])
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
    try show(result)
  }

  private static func show(_ result: some Encodable) throws {
    print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
  }
}
