import BenchmarkSupport
import Foundation

/// What a client takes: messages per second, microseconds of processor time for each, and bytes of memory for each idle
/// connection.
struct Result: Codable {
  var rate = 0.0
  var processor = 0.0
  var memory = 0.0
}

/// Runs the clients in turn, several times, and compares their medians.
struct Comparison {
  let rounds: Int

  /// How many times as many messages as NIOWebSocket, for the same processor time.
  private static let leastRatio = 3.0
  /// KiB for each idle connection.
  private static let mostMemory = 24.0

  private struct Row {
    let title: String
    /// What a client is asked to do, see `Main`.
    let work: [String]
    var hasFloor = true
    var isMemory = false
  }

  private static func rows(_ ports: [Int], _ certificate: String) -> [Row] {
    let url = "ws://127.0.0.1:\(ports[0])"
    let streams = [Kind.text, .json].flatMap { kind in
      [(30, 1_000_000), (2048, 200_000)].map { size, count in
        Row(
          title: "\(size) B, \(kind == .text ? "as text" : "as values")",
          work: ["receive", "\(url)/\(kind.rawValue)/\(size)/\(count)", kind.rawValue, "\(count)", ""],
          hasFloor: kind == .json)
      }
    }
    return streams + [
      Row(title: "30 B, there and back", work: ["echo", "\(url)/echo", "text", "20000", ""], hasFloor: false),
      Row(title: "1,000 idle connections", work: ["open", "\(url)/idle", "text", "1000", ""], isMemory: true),
      Row(
        title: "1,000 idle connections over TLS",
        work: ["open", "wss://127.0.0.1:\(ports[1])/idle", "text", "1000", certificate], hasFloor: false, isMemory: true
      ),
    ]
  }

  /// Prints the table; returns whether all floors were reached.
  func run() throws -> Bool {
    let files = try ServerCertificate()
    defer { files.remove() }
    let (server, ports) = try OwnProcess.server(["server", files.certificate, files.key])
    defer { server.process.terminate() }
    print("| load | client | messages/s | CPU µs | KiB each |\n|---|---|---:|---:|---:|")
    var isReached = true
    for row in Self.rows(ports, files.certificate) {
      var results: [Client: [Result]] = [:]
      for round in 0..<rounds {
        // The order matters, so it alternates.
        let clients = Client.allCases.filter { $0.isAvailable && ($0 != .blocking || row.work[0] == "echo") }
        for client in round.isMultiple(of: 2) ? clients : clients.reversed() {
          results[client, default: []].append(try client.measure(row.work))
        }
      }
      isReached = report(row, results.mapValues(\.medians)) && isReached
    }
    return isReached
  }

  private func report(_ row: Row, _ medians: [Client: Result]) -> Bool {
    for client in Client.allCases {
      guard let median = medians[client] else { continue }
      let figures =
        row.isMemory
        ? "| | \((median.memory / 1024).formatted(1))"
        : "\(Int(median.rate)) | \(median.processor.formatted(3)) |"
      print("| \(row.title) | \(client.rawValue) | \(figures) |")
    }
    guard let ours = medians[.sockets], let theirs = medians[.nio] else { return false }
    let ratio = row.isMemory ? theirs.memory / ours.memory : theirs.processor / ours.processor
    let isReached =
      !row.hasFloor || (row.isMemory ? ours.memory / 1024 <= Self.mostMemory : ratio >= Self.leastRatio)
    let floor = row.isMemory ? "at most \(Int(Self.mostMemory)) KiB" : "of \(Int(Self.leastRatio))"
    print(
      "| \(row.title) | ratio | | \(ratio.formatted(1)) \(row.hasFloor ? floor : "") | \(isReached ? "" : "MISSED") |")
    fflush(nil)
    return isReached
  }
}

extension Client {
  /// The Python of the tests' environment, which has websockets.
  static let interpreter = URL(filePath: #filePath).appending(path: "../../../../.venv/bin/python").standardized
  private static let program = URL(filePath: #filePath).appending(path: "../client.py").standardized

  var isAvailable: Bool { self != .python || FileManager.default.isExecutableFile(atPath: Self.interpreter.path()) }

  /// Measures in a process of its own.
  fileprivate func measure(_ work: [String]) throws -> Result {
    guard self == .python else { return try OwnProcess.measure(["client", rawValue] + work) }
    let (process, output) = (Process(), Pipe())
    process.executableURL = Self.interpreter
    process.arguments = [Self.program.path()] + work
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try JSONDecoder().decode(Result.self, from: text)
  }
}

extension [Result] {
  fileprivate var medians: Result {
    Result(rate: median(\.rate), processor: median(\.processor), memory: median(\.memory))
  }

  private func median(_ value: KeyPath<Result, Double>) -> Double {
    map { $0[keyPath: value] }.sorted()[count / 2]
  }
}
