import BenchmarkSupport
import Foundation

/// Measures transports against a server in another process, interleaved in one run.
///
///     TransportBenchmarks [ROUNDS]                     prints the table; ends with 1 where a floor is missed
///     TransportBenchmarks server CERTIFICATE KEY       is the server
///     TransportBenchmarks client NAME URL …            is a client, and prints what it measured
@main
enum Main {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    switch arguments.first {
    case "server":
      try Server.run(certificate: arguments[1], key: arguments[2]) { [UInt8](repeating: 0x20, count: $0) }
    case "client": try await client(arguments)
    default: try Comparison(rounds: Int(arguments.first ?? "") ?? 5).run()
    }
  }

  private static func client(_ arguments: [String]) async throws {
    guard let client = Client(rawValue: arguments[1]), let size = Int(arguments[4]), let width = Int(arguments[5]),
      let seconds = Double(arguments[6])
    else { exit(64) }
    var load = Load(
      url: arguments[2], certificate: arguments[3], size: size, width: width, seconds: seconds,
      count: arguments.count > 7 ? Int(arguments[7]) : nil)
    load.cancellations = arguments.count > 8 ? Int(arguments[8]) ?? 0 : 0
    let measurement =
      if client == .blocking {
        try Blocking.measure(load)
      } else {
        try await LoadResult.measure(load, client.makeSender(load))
      }
    print(String(decoding: try JSONEncoder().encode(measurement), as: UTF8.self))
  }
}
