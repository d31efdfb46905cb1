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
  }

  private static let rows: [Row] = [false, true].flatMap { isSecure in
    [300, 20_000].flatMap { size in [1, 8, 64, 256].map { Row(isSecure: isSecure, size: size, width: $0) } }
  }

  /// Prints the table; returns whether all floors are reached.
  func run() throws -> Bool {
    print("\n| load | client | requests/s | p50 µs | p99 µs | CPU µs | MiB |\n|---|---|---:|---:|---:|---:|---:|")
    var isReached = true
    for row in Self.rows {
      let clients: [Client] = [.sockets, .socketsHTTP2]
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
    clients.forEach { medians[$0]?.print(row.title, $0) }
    limits.median?.print(row.title)
    guard let ours = medians[.socketsHTTP2], let http1 = medians[.sockets] else { return false }
    let share = ours.processor / http1.processor
    let isReached = row.floor.map { share <= $0 } ?? true
    let text = share.formatted(2) + (row.floor.map { " of \($0.formatted(1))" } ?? "")
    print("| \(row.title) | ratio | | | | \(text) | \(isReached ? "" : "MISSED") |")
    fflush(nil)
    return isReached
  }
}
