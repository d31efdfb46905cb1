import BenchmarkSupport
import Foundation

/// Runs the clients in turn, several times, and compares their medians.
struct Comparison {
  let rounds: Int

  /// How long each measurement takes, in seconds: all of them, three times over, end within five minutes.
  private static let duration = "1"

  /// What is asked of a row: how many times async-http-client's rate, and which share of its processor time; and how
  /// many times the processor time of bare blocking sockets.
  private struct Bar {
    let rate: Double
    let processor: Double
    let blocking: Double
  }

  /// One line of the table, its floors, and the aims beyond them.
  private struct Row {
    let title: String
    let isSecure: Bool
    let size: Int
    let width: Int

    var floor: Bar {
      isSecure ? Bar(rate: 1.2, processor: 0.62, blocking: 2.3) : Bar(rate: 1.8, processor: 0.42, blocking: 2.3)
    }

    var aim: Bar {
      Bar(rate: isSecure || width == 1 ? 2 : 3, processor: isSecure ? 0.4 : 0.3, blocking: 1.5)
    }
  }

  private static let rows: [Row] = [false, true].flatMap { isSecure in
    [300, 20_000].flatMap { size in
      [1, 8, 64, 256].map { width in
        Row(
          title: "\(isSecure ? "https" : "http") \(size) B, \(width) at once", isSecure: isSecure, size: size,
          width: width)
      }
    }
  }

  /// Prints the table; returns whether all floors are reached.
  func run() throws -> Bool {
    let files = try ServerCertificate()
    defer { files.remove() }
    let certificate = files.certificate
    let (server, ports) = try OwnProcess.server(["server", certificate, files.key])
    defer { server.process.terminate() }

    print("| load | client | requests/s | p50 µs | p99 µs | CPU µs | MiB |\n|---|---|---:|---:|---:|---:|---:|")
    var isReached = true
    for row in Self.rows {
      let url = "\(row.isSecure ? "https" : "http")://127.0.0.1:\(row.isSecure ? ports[1] : ports[0])/\(row.size)"
      let clients = Client.inHTTP1.filter { !row.isSecure || ($0 != .urlSession && $0 != .blocking) }
      var results: [Client: [LoadResult]] = [:]
      var limits: [Wrk] = []
      for round in 0..<rounds {
        // The order matters, so it alternates.
        for client in round.isMultiple(of: 2) ? clients : clients.reversed() {
          results[client, default: []].append(
            try measure(client, [url, certificate, "\(row.size)", "\(row.width)", Self.duration]))
        }
        if let limit = try Wrk.measure(url, row.size, row.width) { limits.append(limit) }
      }
      isReached = report(row, clients, results, limits) && isReached
    }
    try reportMemoryAndCancellations("http://127.0.0.1:\(ports[0])/300", certificate)
    return isReached
  }

  private func reportMemoryAndCancellations(_ url: String, _ certificate: String) throws {
    for client in [Client.sockets, .asyncHTTPClient] {
      let load = [url, certificate, "300", "64", Self.duration]
      let many = try measure(client, load + ["100000"])
      print("| memory after 100,000 | \(client.rawValue) | | | | | \(many.memory.formatted(1)) |")
      for cancellations in [0, 64] {
        let results = try (0..<rounds).map { _ in try measure(client, load + ["", "\(cancellations)"]) }.medians
        print(
          "| 64 at once, and \(cancellations) cancelled a second | \(client.rawValue) | | | \(Int(results.p99)) | | |")
      }
    }
  }

  private func report(_ row: Row, _ clients: [Client], _ results: [Client: [LoadResult]], _ limits: [Wrk]) -> Bool {
    let medians = results.mapValues(\.medians)
    let limit = limits.sorted { $0.rate < $1.rate }.dropFirst(limits.count / 2).first
    clients.forEach { medians[$0]?.print(row.title, $0) }
    guard let ours = medians[.sockets], let theirs = medians[.asyncHTTPClient] else { return false }
    let (rate, processor) = (ours.rate / theirs.rate, ours.processor / theirs.processor)
    if let limit {
      print("| \(row.title) | wrk | \(Int(limit.rate)) | | | \(limit.processor.formatted(1)) | |")
    }
    // A server that is more than half busy says little about how fast a client could be.
    let isLimited = limit.map { $0.rate < 2 * ours.rate } ?? false
    let blocking = medians[.blocking].map { ours.processor / $0.processor }
    func reaches(_ bar: Bar) -> Bool {
      (rate >= bar.rate || isLimited) && processor <= bar.processor && blocking ?? 0 <= bar.blocking
    }
    print(
      "| \(row.title) | ratio | \(rate.formatted(2)) of \(isLimited ? "-" : row.floor.rate.formatted(1)) | | "
        + "| \(processor.formatted(2)) of \(row.floor.processor.formatted(2))"
        + (blocking.map { "; \($0.formatted(2)) of \(row.floor.blocking.formatted(1))" } ?? "")
        + " | \(reaches(row.aim) ? "aim" : reaches(row.floor) ? "" : "MISSED") |")
    fflush(nil)
    return reaches(row.floor)
  }

  private func measure(_ client: Client, _ arguments: [String]) throws -> LoadResult {
    try OwnProcess.measure(["client", client.rawValue] + arguments)
  }
}
