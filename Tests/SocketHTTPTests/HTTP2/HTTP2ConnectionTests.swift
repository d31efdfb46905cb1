import Foundation
import HTTPClientCore
import Streams
import Testing

@testable import SocketHTTP

/// What a connection in HTTP/2 makes of the frames of a server, without a socket.
@Suite struct HTTP2ConnectionTests {
  private func exchange(_ method: HTTPMethod = .get, body: Data? = nil) throws -> SocketExchange {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    return try SocketExchange(
      HTTPRequest(method: method, url: url, body: body), route: Route(host: "127.0.0.1", port: 80, isSecure: false),
      observer: AnyObserver { _ in })
  }

  /// A connection whose server has sent its settings.
  private func connection() throws -> HTTP2Connection {
    let connection = HTTP2Connection()
    try receive(HTTP2ServerFrame.settings(), on: connection)
    while try connection.next(isEmpty: true) != nil {}
    return connection
  }

  private func receive(_ bytes: [UInt8], on connection: HTTP2Connection) throws {
    try bytes.withUnsafeBytes { try connection.receive($0) }
  }

  /// Takes all that there is to send.
  private func write(_ connection: HTTP2Connection) {
    while case .taken(let count)? = connection.withNext({ .taken($0.count + $1.count) }) { connection.didWrite(count) }
  }

  @Test func `what has arrived for one exchange waits for no end of what arrives for another`() throws {
    let connection = try connection()
    let (small, large) = try (exchange(), exchange())
    connection.begin(small, whenReady: nil)
    connection.begin(large, whenReady: nil)
    try receive(
      HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, "event") + HTTP2ServerFrame.head(3), on: connection)
    let piece = HTTP2ServerFrame.data(3, [UInt8](repeating: 0, count: 16 << 10))
    var (pieces, isDelivered) = (0, false)
    while !isDelivered, pieces < 100 {
      try receive(piece, on: connection)
      pieces += 1
      while let event = try connection.next(isEmpty: false) {
        guard case .parts(let parts, let exchange) = event else { continue }
        if exchange === small { isDelivered = true }
        let count = parts.reduce(0) { if case .body(let data) = $1 { $0 + data.count } else { $0 } }
        connection.didDeliver(count, of: exchange)
      }
      write(connection)
    }
    #expect(pieces < 10)
  }

  @Test func `nothing is kept of a request that was refused before its body was sent`() throws {
    let connection = try connection()
    let refused = try exchange(.post, body: Data(count: 200_000))
    connection.begin(refused, whenReady: nil)
    write(connection)
    try receive(HTTP2ServerFrame.head(1, 413) + HTTP2ServerFrame.data(1, "too"), on: connection)
    guard case .parts? = try connection.next(isEmpty: true) else {
      Issue.record("the parts are delivered")
      return
    }
    connection.didDeliver(3, of: refused)
    try receive(HTTP2ServerFrame.data(1, " large", isEnd: true), on: connection)
    guard case .completed? = try connection.next(isEmpty: true) else {
      Issue.record("the response is complete")
      return
    }
    #expect(connection.load == 0)
    #expect(connection.delivered.isEmpty)
  }

  @Test func `exchanges for which there is no stream begin in order as streams end, or move to another connection`()
    throws
  {
    let connection = try connection()
    try receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 1)]), on: connection)
    let exchanges = try (0..<4).map { _ in try exchange() }
    for exchange in exchanges { connection.begin(exchange, whenReady: nil) }
    write(connection)
    #expect(connection.load == 4)
    try receive(HTTP2ServerFrame.head(1, isEnd: true), on: connection)
    var completed: [SocketExchange] = []
    while let event = try connection.next(isEmpty: true) {
      if case .completed(let completion) = event { completed.append(completion.exchange) }
    }
    write(connection)
    try receive(HTTP2ServerFrame.head(3, isEnd: true), on: connection)
    while let event = try connection.next(isEmpty: true) {
      if case .completed(let completion) = event { completed.append(completion.exchange) }
    }
    #expect(completed.elementsEqual(exchanges.prefix(2)) { $0 === $1 })
    connection.cancel(exchanges[2])
    try receive(HTTP2ServerFrame.goAway(3), on: connection)
    write(connection)
    var refused: [SocketExchange] = []
    while let event = try connection.next(isEmpty: true) {
      if case .lost(let loss, _) = event, loss.isRefused { refused.append(loss.exchange) }
    }
    #expect(refused.elementsEqual([exchanges[3]]) { $0 === $1 })
    #expect(connection.load == 0)
  }
}
