import Dispatch
import Foundation
import Glibc
import LoopbackServers

/// The smallest possible HTTP client, for tests to talk to a test server by other means than the client under test.
///
/// One request per connection, which the server is asked to close; it waits for 20 seconds at most each time.
package enum RawHTTP {
  package struct Response: Sendable {
    package let status: Int

    /// The head without the empty line that ends it.
    package let head: String
    package let body: [UInt8]
  }

  package static func get(_ path: String, port: UInt16) async throws -> Response {
    try await send("GET", path, headers: [], body: [], port: port)
  }

  package static func post(
    _ path: String, contentType: String = "application/json", body: [UInt8] = [], port: UInt16
  ) async throws -> Response {
    try await send("POST", path, headers: [("Content-Type", contentType)], body: body, port: port)
  }

  package static func send(
    _ method: String, _ path: String, headers: [(name: String, value: String)], body: [UInt8], port: UInt16
  ) async throws -> Response {
    let fields =
      [("Host", "127.0.0.1:\(port)"), ("Connection", "close"), ("Content-Length", "\(body.count)")] + headers
    let head = "\(method) \(path) HTTP/1.1\r\n" + fields.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n"
    let bytes = try await exchange([UInt8](head.utf8) + body, port: port)
    guard let end = bytes.firstRange(of: [UInt8]("\r\n\r\n".utf8)) else { throw NotHTTP(bytes: bytes) }
    let responseHead = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
    let status = responseHead.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    guard let status else { throw NotHTTP(bytes: bytes) }
    return Response(status: status, head: responseHead, body: [UInt8](bytes[end.upperBound...]))
  }

  /// Sends the bytes over a new connection and gives all that comes until the server closes.
  package static func exchange(_ bytes: [UInt8], port: UInt16) async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      // Blocking calls stay off the tests' own threads.
      DispatchQueue.global().async {
        continuation.resume(with: Result { try exchangeBlocking(bytes, port: port) })
      }
    }
  }

  private static func exchangeBlocking(_ bytes: [UInt8], port: UInt16) throws -> [UInt8] {
    let socket = try Loopback.connect(port: port)
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(socket.number, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    guard socket.send(bytes[...]) else { throw FailedCall(call: "send", code: errno) }
    var received: [UInt8] = []
    while true {
      errno = 0
      let bytes = socket.receive()
      if bytes.isEmpty && errno == EAGAIN { throw FailedCall(call: "recv", code: ETIMEDOUT) }
      if bytes.isEmpty { return received }
      received += bytes
    }
  }
}

/// What came back was no HTTP response.
package struct NotHTTP: Error, CustomStringConvertible {
  package let bytes: [UInt8]

  package var description: String { "Not an HTTP response: \(String(decoding: bytes.prefix(200), as: UTF8.self))" }
}

/// A client's connection over which a test sends and receives what it likes. Its calls block.
package final class RawConnection: Sendable {
  package enum End: Sendable {
    case closed
    case reset
  }

  package struct Received: Sendable, Equatable {
    package let bytes: [UInt8]
    package let end: End

    package init(bytes: [UInt8], end: End) {
      self.bytes = bytes
      self.end = end
    }
  }

  private let socket: Descriptor

  package init(port: UInt16) throws {
    socket = try Loopback.connect(port: port)
  }

  /// Whether a connection to the port is made within this time.
  package static func stands(port: UInt16, withinMilliseconds limit: Int32) throws -> Bool {
    try Loopback.connect(port: port, withinMilliseconds: limit).stands
  }

  package func send(_ text: String) {
    _ = socket.send([UInt8](text.utf8)[...])
  }

  /// Receives this many bytes, fewer where the connection ends.
  package func receive(_ count: Int) -> [UInt8] {
    var received: [UInt8] = []
    while received.count < count {
      let bytes = socket.receive(upTo: count - received.count)
      if bytes.isEmpty { break }
      received += bytes
    }
    return received
  }

  /// Receives until the connection ends.
  package func receiveAll() -> Received {
    var received: [UInt8] = []
    while true {
      errno = 0
      let bytes = socket.receive()
      if bytes.isEmpty { return Received(bytes: received, end: errno == ECONNRESET ? .reset : .closed) }
      received += bytes
    }
  }

  package func close() {
    socket.close()
  }
}
