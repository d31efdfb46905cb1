import BenchmarkSupport
import Foundation

/// Measures transports against a server in another process, interleaved in one run.
///
///     TransportBenchmarks [ROUNDS]                     prints the table; ends with 1 where a floor is missed
///     TransportBenchmarks server CERTIFICATE KEY       is the server
///     TransportBenchmarks client NAME URL …            is a client, and prints what it measured
///     TransportBenchmarks versions [ROUNDS]            prints the tables of HTTP/2 alone
///     TransportBenchmarks download NAME URL CERTIFICATE SIZE  downloads a file, and prints what it measured
///     TransportBenchmarks relay PORT                   delays what it passes on to a port
///     TransportBenchmarks uploads [ROUNDS]             prints the table of uploads alone
///     TransportBenchmarks sink                         is the server that uploads go to
///     TransportBenchmarks upload NAME FILE PORT        uploads a file, and prints what it measured
@main
enum Main {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    switch arguments.first {
    case "server":
      try Server.run(certificate: arguments[1], key: arguments[2]) { [UInt8](repeating: 0x20, count: $0) }
    case "client": try await client(arguments)
    case "sink": try Uploads.sink()
    case "upload":
      guard let port = UInt16(arguments[3]) else { exit(64) }
      let measurement = try await Uploads.measure(arguments[1], arguments[2], port: port)
      print(String(decoding: try JSONEncoder().encode(measurement), as: UTF8.self))
    case "versions": if try !versions(rounds: Int(arguments.last ?? "") ?? 3) { exit(1) }
    case "download":
      guard let client = Client(rawValue: arguments[1]), let size = Int(arguments[4]) else { exit(64) }
      let measurement = try await Downloads.measure(client, arguments[2], certificate: arguments[3], size: size)
      print(String(decoding: try JSONEncoder().encode(measurement), as: UTF8.self))
    case "relay":
      guard let port = UInt16(arguments[1]) else { exit(64) }
      try Relay.run(to: port)
    case "uploads": try uploads(rounds: Int(arguments.last ?? "") ?? 5)
    default:
      let rounds = Int(arguments.first ?? "") ?? 3
      try uploads(rounds: rounds)
      let isReached = try Comparison(rounds: rounds).run()
      if try !versions(rounds: rounds) || !isReached { exit(1) }
    }
  }

  private static func uploads(rounds: Int) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "TransportBenchmarks.uploads.\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Uploads.run(rounds: rounds, folder: folder)
  }

  /// Returns whether all floors are reached; they are not without nginx.
  private static func versions(rounds: Int) throws -> Bool {
    guard let server = try Nginx() else {
      print("\nnginx is not installed.")
      return false
    }
    defer { server.stop() }
    var isReached = try Versions(rounds: rounds, server: server).run()
    isReached = try Peers.run(rounds: rounds, server.certificateFiles) && isReached
    return try Downloads.run(rounds: rounds, server) && isReached
  }

  private static func client(_ arguments: [String]) async throws {
    guard let client = Client(rawValue: arguments[1]), let size = Int(arguments[4]), let width = Int(arguments[5]),
      let seconds = Double(arguments[6])
    else { exit(64) }
    var load = Load(
      url: arguments[2], certificate: arguments[3], size: size, width: width, seconds: seconds,
      count: arguments.count > 7 ? Int(arguments[7]) : nil)
    load.cancellations = arguments.count > 8 ? Int(arguments[8]) ?? 0 : 0
    let measurement: LoadResult
    do {
      measurement =
        client == .blocking
        ? try Blocking.measure(load) : try await LoadResult.measure(load, client.makeSender(load))
    } catch {
      FileHandle.standardError.write(Data("\(client.rawValue) failed: \(error)\n".utf8))
      exit(1)
    }
    print(String(decoding: try JSONEncoder().encode(measurement), as: UTF8.self))
  }
}
