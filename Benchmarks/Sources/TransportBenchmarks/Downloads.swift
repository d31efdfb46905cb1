import BenchmarkSupport
import Foundation
import HTTPClientCore
import Streams

/// A download of 1 GiB in HTTP/2 beside HTTP/1.1: of all of it from this machine, and of a part through a relay that adds
/// 30 ms.
enum Downloads {
  /// What one process measured.
  struct Result: Codable {
    let seconds: Double
    let processorSeconds: Double
  }

  private struct Row {
    let title: String
    let isSecure: Bool
    let isDelayed: Bool
    var size: Int { isDelayed ? Nginx.largeSize / 4 : Nginx.largeSize }
  }

  private static let rows = [
    Row(title: "1 GiB in clear text", isSecure: false, isDelayed: false),
    Row(title: "1 GiB with TLS", isSecure: true, isDelayed: false),
    Row(title: "256 MiB in clear text, 30 ms away", isSecure: false, isDelayed: true),
  ]

  /// How much of the rate of HTTP/1.1 is asked for.
  private static let floor = 0.9

  /// Prints the table; returns whether the floor is reached.
  static func run(rounds: Int, _ server: Nginx) throws -> Bool {
    print("\n| download | client | MiB/s | CPU ms |\n|---|---|---:|---:|")
    var isReached = true
    for row in rows {
      var results: [Client: [Result]] = [:]
      for round in 0..<rounds {
        let clients: [Client] = [.sockets, .socketsHTTP2]
        for client in round.isMultiple(of: 2) ? clients : clients.reversed() {
          results[client, default: []].append(try measure(row, client, server))
        }
      }
      func median(_ client: Client, _ value: (Result) -> Double) -> Double {
        (results[client] ?? []).map(value).sorted()[rounds / 2]
      }
      for client in [Client.sockets, .socketsHTTP2] {
        let rate = Double(row.size >> 20) / median(client, \.seconds)
        print(
          "| \(row.title) | \(client.rawValue) | \(Int(rate)) | \(Int(median(client, \.processorSeconds) * 1_000)) |")
      }
      let ratio = median(.sockets, \.seconds) / median(.socketsHTTP2, \.seconds)
      isReached = isReached && ratio >= floor
      print("| \(row.title) | ratio | \(ratio.formatted(2)) of \(floor) | \(ratio < floor ? "MISSED" : "") |")
      fflush(nil)
    }
    return isReached
  }

  private static func measure(_ row: Row, _ client: Client, _ server: Nginx) throws -> Result {
    let isHTTP2 = client == .socketsHTTP2
    func download(_ url: String) throws -> Result {
      try OwnProcess.measure(["download", client.rawValue, url, server.certificate, "\(row.size)"])
    }
    guard row.isDelayed else { return try download(server.url("large", isSecure: row.isSecure, isHTTP2: isHTTP2)) }
    let port = server.port(isSecure: row.isSecure, isHTTP2: isHTTP2)
    let (relay, ports) = try OwnProcess.server(["relay", "\(port)"])
    defer { relay.process.terminate() }
    return try download("http://127.0.0.1:\(ports[0])/large")
  }

  /// Downloads the first bytes of a file, in a process of its own.
  static func measure(_ client: Client, _ url: String, certificate: String, size: Int) async throws -> Result {
    guard let url = URL(string: url) else { throw URLError(.badURL) }
    let load = Load(url: url.absoluteString, certificate: certificate, size: size, width: 1, seconds: 0)
    let transport = client.transport(load)
    var request = try HTTPRequest(method: .get, url: url, timeouts: HTTPTimeouts(total: nil))
    try request.headers.set("Range", to: "bytes=0-\(size - 1)")
    let (begin, start) = (processorTime(), ContinuousClock.now)
    var count = 0
    for try await part in transport.send(request).values(bufferingPolicy: .unbounded) {
      if case .body(let bytes) = part { count += bytes.count }
    }
    guard count == size else { throw URLError(.badServerResponse) }
    return Result(seconds: (ContinuousClock.now - start) / .seconds(1), processorSeconds: processorTime() - begin)
  }
}

/// Passes bytes on in both directions, each 15 ms later.
enum Relay {
  private static let delay = Duration.milliseconds(15)

  /// What is on its way in one direction: at most 64 MiB.
  private final class Pipe: @unchecked Sendable {  // guarded by the condition
    private let condition = NSCondition()
    private var pieces: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
    private var count = 0
    private static let most = 64 << 20

    func add(_ bytes: [UInt8]) {
      condition.withLock {
        while count > Self.most { condition.wait() }
        pieces.append((.now + Relay.delay, bytes))
        count += bytes.count
        condition.signal()
      }
    }

    func take() -> [UInt8] {
      let piece = condition.withLock {
        while pieces.isEmpty { condition.wait() }
        let piece = pieces.removeFirst()
        count -= piece.bytes.count
        condition.signal()
        return piece
      }
      let left = piece.due - .now
      if left > .zero { usleep(UInt32(left / .microseconds(1))) }
      return piece.bytes
    }
  }

  /// Serves until it is terminated, and prints its port.
  static func run(to port: UInt16) throws {
    let listener = try listenOnLoopback()
    print(listener.port)
    fflush(nil)
    while case let client = accept(listener.descriptor, nil, nil), client >= 0 {
      guard let server = connectToLoopback(port) else { continue }
      for (source, target) in [(client, server), (server, client)] {
        let pipe = Pipe()
        Thread.detachNewThread {
          var buffer = [UInt8](repeating: 0, count: 256 << 10)
          while case let count = read(source, &buffer, buffer.count), count > 0 { pipe.add(Array(buffer[..<count])) }
          pipe.add([])
        }
        Thread.detachNewThread {
          while case let bytes = pipe.take(), !bytes.isEmpty {
            var sent = 0
            while sent < bytes.count {
              let count = bytes[sent...].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
              guard count > 0 else { return }
              sent += count
            }
          }
          shutdown(target, Int32(SHUT_WR))
        }
      }
    }
  }
}
