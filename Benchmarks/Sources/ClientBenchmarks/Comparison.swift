import BenchmarkSupport
import Foundation

/// Runs the clients in turn against one server, several times, and compares their medians.
struct Comparison {
  let rounds: Int

  /// Prints the table, and returns whether the floors are reached.
  func run() throws -> Bool {
    let (server, ports) = try OwnProcess.server(["server"])
    defer { server.process.terminate() }
    print("\n| timeline | client | requests/s | p50 µs | p99 µs | CPU µs | MiB |\n|---|---|---:|---:|---:|---:|---:|")
    var isReached = true
    for (size, floor) in [(2000, 2.0), (20_000, 4.0)] {
      for width in [1, 8, 64] {
        var results: [Client: [LoadResult]] = [:]
        for _ in 0..<rounds {
          for client in Client.allCases {
            let url = "http://127.0.0.1:\(ports[0])/\(size)"
            results[client, default: []].append(
              try OwnProcess.measure(["client", client.rawValue, url, "\(size)", "\(width)", "1"]))
          }
        }
        isReached = report("\(size / 1000) KB, \(width) at once", floor, results.mapValues(\.medians)) && isReached
      }
    }
    return isReached
  }

  private func report(_ title: String, _ floor: Double, _ medians: [Client: LoadResult]) -> Bool {
    for client in Client.allCases {
      guard let median = medians[client] else { continue }
      print(
        "| \(title) | \(client.rawValue) | \(Int(median.rate)) | \(Int(median.p50)) | \(Int(median.p99)) "
          + "| \(median.processor.formatted(1)) | \(median.memory.formatted(1)) |")
    }
    guard let ours = medians[.ours], let theirs = medians[.asyncHTTPClient] else { return false }
    // Processor time is compared, too, since other load on the machine does not show in it.
    let (rate, ratio) = (ours.rate / theirs.rate, theirs.processor / ours.processor)
    let isReached = rate >= floor && ratio >= floor
    print(
      "| \(title) | ratio | \(rate.formatted(2)) of \(floor.formatted(1)) | | "
        + "| \(ratio.formatted(2)) of \(floor.formatted(1)) | \(isReached ? "" : "MISSED") |")
    fflush(nil)
    return isReached
  }
}
