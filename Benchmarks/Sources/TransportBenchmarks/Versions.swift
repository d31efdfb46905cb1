import BenchmarkSupport
import Foundation

/// HTTP/2 beside HTTP/1.1, with nginx: a POST with a body, and a response with as many bytes.
struct Versions {
  let rounds: Int
  let server: Nginx

  /// How long each measurement takes, in seconds.
  private static let duration = "1"

  /// One line of the table.
  private struct Row {
    let isSecure: Bool
    let size: Int
    let width: Int

    var title: String { "\(isSecure ? "h2" : "h2c") \(size) B, \(width) at once" }

    /// Which share of the processor time of HTTP/1.1 is allowed.
    var floor: Double? { width == 1 ? 1.2 : width < 64 ? nil : isSecure ? 0.5 : 0.6 }

    /// Which share of async-http-client's is, and how many times its rate is asked for.
    var peerFloor: (processor: Double, rate: Double)? { width < 64 ? nil : (0.25, 3) }
  }

  private static let rows: [Row] = [false, true].flatMap { isSecure in
    [300, 20_000].flatMap { size in [1, 8, 64, 256].map { Row(isSecure: isSecure, size: size, width: $0) } }
  }

  /// Prints the table; returns whether all floors are reached.
  func run() throws -> Bool {
    print("\n| load | client | requests/s | p50 µs | p99 µs | CPU µs | MiB |\n|---|---|---:|---:|---:|---:|---:|")
    var isReached = true
    for row in Self.rows {
      // async-http-client speaks HTTP/2 with TLS alone.
      let clients: [Client] = [.sockets, .socketsHTTP2] + (row.isSecure ? [.asyncHTTPClientHTTP2] : [])
      var (results, limits): ([Client: [LoadResult]], [H2Load]) = ([:], [])
      for round in 0..<rounds {
        // The order matters, so it alternates.
        for client in round.isMultiple(of: 2) ? clients : clients.reversed() {
          let url = server.url("\(row.size)", isSecure: row.isSecure, isHTTP2: client != .sockets)
          let load = [url, server.certificate, "\(row.size)", "\(row.width)", Self.duration]
          results[client, default: []].append(try OwnProcess.measure(["client", client.rawValue] + load))
        }
        let url = server.url("\(row.size)", isSecure: row.isSecure, isHTTP2: true)
        if let limit = try H2Load.measure(url, row.size, row.width) { limits.append(limit) }
      }
      isReached = report(row, clients, results.mapValues(\.medians), limits) && isReached
    }
    return isReached
  }

  private func report(_ row: Row, _ clients: [Client], _ medians: [Client: LoadResult], _ limits: [H2Load]) -> Bool {
    for client in clients {
      guard let median = medians[client] else { continue }
      print(
        "| \(row.title) | \(client.rawValue) | \(Int(median.rate)) | \(Int(median.p50)) | \(Int(median.p99)) "
          + "| \(median.processor.formatted(1)) | \(median.memory.formatted(1)) |")
    }
    if let limit = limits.sorted(by: { $0.rate < $1.rate }).dropFirst(limits.count / 2).first {
      print("| \(row.title) | h2load | \(Int(limit.rate)) | | | \(limit.processor.formatted(1)) | |")
    }
    guard let ours = medians[.socketsHTTP2], let http1 = medians[.sockets] else { return false }
    let share = ours.processor / http1.processor
    var isReached = row.floor.map { share <= $0 } ?? true
    var text = share.formatted(2) + (row.floor.map { " of \($0.formatted(1))" } ?? "")
    var rate = ""
    if let theirs = medians[.asyncHTTPClientHTTP2] {
      let (peerShare, peerRate) = (ours.processor / theirs.processor, ours.rate / theirs.rate)
      text += "; \(peerShare.formatted(2))" + (row.peerFloor.map { " of \($0.processor.formatted(2))" } ?? "")
      rate = peerRate.formatted(2) + (row.peerFloor.map { " of \($0.rate.formatted(0))" } ?? "")
      if let floor = row.peerFloor { isReached = isReached && peerShare <= floor.processor && peerRate >= floor.rate }
    }
    print("| \(row.title) | ratio | \(rate) | | | \(text) | \(isReached ? "" : "MISSED") |")
    fflush(nil)
    return isReached
  }
}
