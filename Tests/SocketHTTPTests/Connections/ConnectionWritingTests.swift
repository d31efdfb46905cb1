import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct ConnectionWritingTests {
  /// Takes whatever is written, and blocks only if it is set to. `@unchecked Sendable`: each test has one, on one thread.
  private final class GreedyChannel: ByteChannel, @unchecked Sendable {
    var takenCount = 0
    var failure: RequestError?
    /// Whether it has room for nothing more, and whether what it has taken is not sent.
    var (isFull, isHeldUp) = (false, false)
    func beginReading(isOver: Bool) {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome { .blocked }
    func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
      if let failure { return .failed(failure) }
      if isFull { return .blocked }
      let count = first.count + min(second.count, 64 << 10)
      takenCount += count
      return .taken(count)
    }
    func flush() -> StepOutcome { isHeldUp ? .blocked : .done }
    func condition() -> Socket.Condition { .quiet }
    var hasEnded: Bool { false }
    func close() {}
  }

  private let route = Route(host: "h", port: 80, isSecure: false)

  private func exchange(_ request: HTTPRequest) throws -> SocketExchange {
    try SocketExchange(request, route: route, observer: AnyObserver { _ in })
  }

  /// A connection that is open.
  private func connection(_ channel: GreedyChannel) -> Connection {
    let connection = Connection(route: route)
    connection.wire.withLockUnchecked { $0 = Connection.Wire(channel, HTTP1Connection(), OpeningSteps()) }
    return connection
  }

  private func exchange(on connection: Connection) -> SocketExchange? {
    connection.wire.withLock { ($0?.http as? HTTP1Connection)?.exchange }
  }

  @Test func `one turn writes a part of a large body, and the next ones the rest`() throws {
    let channel = GreedyChannel()
    let connection = connection(channel)
    let size = 64 << 20
    let start = connection.start(
      try exchange(HTTPRequest(method: .post, url: url("http://h/"), body: Data(count: size))))
    guard case .more = start else { return try #require(Bool(false), "it wrote all in one turn") }
    #expect(channel.takenCount <= 2 << 20)
    var turns = 1
    while case .more? = connection.wire.withLock({ $0?.write() }) { turns += 1 }
    #expect(channel.takenCount > size)
    #expect(turns >= 32)
  }

  @Test func `T10: bytes from a dead connection are no response to a request of which nothing was sent`() throws {
    let channel = GreedyChannel()
    let connection = connection(channel)
    channel.failure = RequestError(.connectionLost, "…")
    let start = connection.start(try exchange(HTTPRequest(method: .get, url: url("http://h/"))))
    guard case .dead = start else { return #expect(Bool(false), "it was taken for sent") }
    #expect(exchange(on: connection) == nil)
  }

  @Test func `an exchange that was not sent is released when its connection closes, and not under its lock`() throws {
    let channel = GreedyChannel()
    let connection = connection(channel)
    channel.failure = RequestError(.connectionLost, "…")
    weak var unsent: SocketExchange?
    do {
      let exchange = try exchange(HTTPRequest(method: .get, url: url("http://h/")))
      unsent = exchange
      _ = connection.start(exchange)
    }
    #expect(unsent != nil)
    connection.close()
    #expect(unsent == nil)
  }

  @Test(arguments: [false, true]) func `an event is read at once, though the socket is full`(isHeldUp: Bool) throws {
    let (channel, http) = (GreedyChannel(), HTTP2Connection())
    (channel.isFull, channel.isHeldUp) = (!isHeldUp, isHeldUp)
    let wire = Connection.Wire(channel, http, OpeningSteps())
    guard case .blocked = wire.write() else { return #expect(Bool(false), "the socket is full") }
    try HTTP2ServerFrame.settings().withUnsafeBytes { try http.receive($0) }
    guard case .read = wire.write() else { return #expect(Bool(false), "the limit is left") }
  }

  @Test func `an exchange's events come after those of its connection`() throws {
    let channel = GreedyChannel()
    let connection = connection(channel)
    let isTold = Locked(false)
    var request = try HTTPRequest(method: .get, url: url("http://h/"))
    request.context.onConnected = { _, _, _ in
      isTold.withLock { $0 = true }
      // What the loop does when the socket is ready.
      _ = connection.wire.withLock { $0?.write() }
      #expect(channel.takenCount == 0)
      #expect(exchange(on: connection) == nil)
    }
    guard case .sent = connection.start(try exchange(request)) else { return #expect(Bool(false), "it is not sent") }
    #expect(channel.takenCount > 0)
    #expect(isTold.withLock { $0 })
  }

  @Test func `T6: the time to connect restarts when a connection is lost`() throws {
    let timeouts = HTTPTimeouts(connect: .seconds(10), idle: .seconds(1), total: nil)
    let exchange = try exchange(HTTPRequest(method: .get, url: url("http://h/"), timeouts: timeouts))
    exchange.recordActivity(at: exchange.start + .seconds(20))
    #expect(exchange.nextDeadline?.instant == exchange.start + .seconds(21))
    exchange.recordLoss(at: exchange.start + .seconds(20.5))
    #expect(exchange.nextDeadline?.phase == .connection)
    #expect(exchange.nextDeadline?.instant == exchange.start + .seconds(30.5))
  }
}
