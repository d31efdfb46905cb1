import BenchmarkSupport
import Foundation

/// Measures the whole way of a timeline, from a session to its subscriber.
///
///     ClientBenchmarks [ROUNDS]              prints the tables; ends with 1 where a floor is missed
///     ClientBenchmarks server                is the server
///     ClientBenchmarks client NAME URL …     is a client, and prints what it measured
///     ClientBenchmarks memory SIZE           measures the SDK over the transport in memory, and prints that
///     ClientBenchmarks own SIZE COUNT [N]    only the SDK over the transport in memory, for a profile, with the
///                                            innermost N standard middlewares
@main
enum Main {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    switch arguments.first {
    case "server": try Server.run { Timeline.answer(of: $0) }
    case "client": try await client(arguments)
    case "memory":
      let times = try InMemory.measure(size: Int(arguments[1]) ?? 2000)
      print(String(decoding: try JSONEncoder().encode(times), as: UTF8.self))
    case "own":
      let middlewares = Client.standardMiddlewares.suffix(arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0)
      let way = try InMemory(
        size: Int(arguments[1]) ?? 2000, isWatchedInside: false, middlewares: Array(middlewares))
      _ = try way.run(Int(arguments[2]) ?? 100_000)
    default:
      let rounds = Int(arguments.first ?? "") ?? 5
      let ownIsReached = try InMemory.compare(rounds: rounds)
      let isReached = try Comparison(rounds: rounds).run()
      if !ownIsReached || !isReached { exit(1) }
    }
  }

  private static func client(_ arguments: [String]) async throws {
    guard let client = Client(rawValue: arguments[1]), let size = Int(arguments[3]), let width = Int(arguments[4]),
      let seconds = Double(arguments[5])
    else { exit(64) }
    let load = Load(url: arguments[2], size: size, width: width, seconds: seconds)
    let measurement = try await LoadResult.measure(load, client.makeSender(load))
    print(String(decoding: try JSONEncoder().encode(measurement), as: UTF8.self))
  }
}
