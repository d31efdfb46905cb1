import BenchmarkSupport
import Foundation

/// HTTP/2 with TLS beside async-http-client's, with nghttpd, which responds with what it has received. With nginx, which
/// responds before that, async-http-client 1.37 gets no response for some of several requests at once.
enum Peers {
  /// Prints the table; returns whether all floors are reached: a quarter of async-http-client's processor time, and three times
  /// its rate, unless the server limits that. They are not without nghttpd.
  static func run(rounds: Int, _ files: ServerCertificate) throws -> Bool {
    let path = "/usr/sbin/nghttpd"
    guard FileManager.default.isExecutableFile(atPath: path) else {
      print("\nnghttpd is not installed.")
      return false
    }
    let (server, port) = (Process(), try freePort())
    server.executableURL = URL(filePath: path)
    // With windows that do not hold back what is sent.
    server.arguments = ["--echo-upload", "-n1", "-w24", "-W24", "-m1000", "\(port)", files.key, files.certificate]
    (server.standardOutput, server.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try server.run()
    defer {
      server.terminate()
      server.waitUntilExit()
    }
    while !isListening(port) { usleep(10_000) }

    print("\n| load | client | requests/s | p50 µs | p99 µs | CPU µs | MiB |\n|---|---|---:|---:|---:|---:|---:|")
    var isReached = true
    for size in [300, 20_000] {
      for width in [1, 8, 64, 256] {
        isReached = try measure("https://127.0.0.1:\(port)/", files, size, width, rounds) && isReached
      }
    }
    return isReached
  }

  private static func measure(
    _ url: String, _ files: ServerCertificate, _ size: Int, _ width: Int, _ rounds: Int
  ) throws -> Bool {
    let clients: [Client] = [.socketsHTTP2, .asyncHTTPClientHTTP2]
    var (results, limits): ([Client: [LoadResult]], [H2Load]) = ([:], [])
    for round in 0..<rounds {
      // The order matters, so it alternates.
      for client in round.isMultiple(of: 2) ? clients : clients.reversed() {
        let load = [url, files.certificate, "\(size)", "\(width)", "1"]
        results[client, default: []].append(try OwnProcess.measure(["client", client.rawValue] + load))
      }
      if let limit = try H2Load.measure(url, size, width) { limits.append(limit) }
    }
    let (title, medians, limit) = ("h2 \(size) B, \(width) at once", results.mapValues(\.medians), limits.median)
    clients.forEach { medians[$0]?.print(title, $0) }
    limit?.print(title)
    guard let ours = medians[.socketsHTTP2], let theirs = medians[.asyncHTTPClientHTTP2] else { return false }
    let (share, rate) = (ours.processor / theirs.processor, ours.rate / theirs.rate)
    let (hasFloor, isLimited) = (width >= 64, limit.map { $0.rate < 2 * ours.rate } ?? false)
    let isReached = !hasFloor || share <= 0.25 && (isLimited || rate >= 3)
    let (rateText, shareText) = (rate.formatted(2), share.formatted(2))
    print(
      "| \(title) | ratio | \(rateText)\(hasFloor ? isLimited ? " of -" : " of 3" : "") | | "
        + "| \(shareText)\(hasFloor ? " of 0.25" : "") | \(isReached ? "" : "MISSED") |")
    fflush(nil)
    return isReached
  }
}
