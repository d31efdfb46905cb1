import Foundation
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct ConnectionPoolTests {
  private typealias Exchange = PoolDriver.Exchange

  private let start = Instant.now

  @Test func `exchanges with a connection are counted as active, and those that wait for one are not`() throws {
    let pool = PoolDriver(perRoute: 1)
    let (first, second) = (Exchange(), Exchange())
    #expect(pool.lease(first, "a") == nil)
    #expect(pool.lease(second, "a") == nil)
    #expect(pool.exchangesInFlight == 0)
    let connection = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(connection, until: start + .seconds(1)) === first)
    #expect(pool.exchangesInFlight == 1)
    #expect(pool.finish(first, on: connection))
    #expect(pool.exchangesInFlight == 0)
  }

  @Test func `an exchange waits until its connection is opened, and finds it idle the next time`() throws {
    let pool = PoolDriver()
    let (first, second) = (Exchange(), Exchange())
    #expect(pool.lease(first, "a") == nil)
    let connection = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(connection, until: start) === first)
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.lease(second, "a") === connection)
    #expect(pool.effects.opening.count == 1)
  }

  @Test func `the connection that was used last is used first`() throws {
    let pool = PoolDriver()
    let exchanges = [Exchange(), Exchange()]
    for exchange in exchanges { _ = pool.lease(exchange, "a") }
    let connections = pool.effects.opening
    for connection in connections { _ = pool.makeAvailable(connection, until: start) }
    #expect(pool.finish(exchanges[0], on: connections[0]))
    _ = pool.makeAvailable(connections[0], until: start)
    #expect(pool.finish(exchanges[1], on: connections[1]))
    _ = pool.makeAvailable(connections[1], until: start)
    #expect(pool.lease(Exchange(), "a") === connections[1])
  }

  /// The connection of an exchange, which is the first there is.
  private func open(for exchange: Exchange, _ route: String, in pool: PoolDriver) throws -> PoolDriver.Connection {
    #expect(pool.lease(exchange, route) == nil)
    let connection = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(connection, until: start) === exchange)
    return connection
  }

  @Test func `a busy route yields to one that has waited longer and has no connection`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let (running, starved, next) = (Exchange(), Exchange(), Exchange())
    let connection = try open(for: running, "a", in: pool)
    _ = pool.lease(starved, "b")
    _ = pool.lease(next, "a")
    #expect(pool.finish(running, on: connection))
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.effects.opening.map(\.route) == ["b"])
  }

  @Test func `room is given to the exchange that has waited longest, and not to the place of one that has left`() throws
  {
    let pool = PoolDriver(perRoute: 2, total: 1)
    let (running, left, second, third) = (Exchange(), Exchange(), Exchange(), Exchange())
    let connection = try open(for: running, "x", in: pool)
    _ = pool.lease(left, "a")
    _ = pool.lease(second, "c")
    _ = pool.lease(third, "a")
    #expect(pool.cancel(left))
    #expect(pool.finish(running, on: connection))
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.effects.opening.map(\.route) == ["c"])
  }

  @Test func `a connection that is lost makes room for the exchange that waits, though the one before it has left`()
    throws
  {
    let pool = PoolDriver(perRoute: 1)
    let (running, left, waiting) = (Exchange(), Exchange(), Exchange())
    let connection = try open(for: running, "a", in: pool)
    _ = pool.lease(left, "a")
    _ = pool.lease(waiting, "a")
    #expect(pool.cancel(left))
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.remove(connection)?.exchange === running)
    let next = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(next, until: start) === waiting)
  }

  @Test func `a cancelled exchange closes its connection, and its late response is dropped`() throws {
    let pool = PoolDriver()
    let exchange = Exchange()
    _ = pool.lease(exchange, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: start)
    #expect(pool.cancel(exchange))
    #expect(pool.effects.closing.first === connection)
    #expect(!pool.finish(exchange, on: connection))
    #expect(!pool.cancel(exchange))
    #expect(pool.remove(connection) == nil)
    #expect(pool.isEmpty)
  }

  @Test func `an idle connection is closed for another route when the pool is full`() throws {
    let pool = PoolDriver(perRoute: 3, total: 3)
    let exchanges = (0..<3).map { _ in Exchange() }
    for exchange in exchanges { _ = pool.lease(exchange, "a") }
    let connections = pool.effects.opening
    for connection in connections { _ = pool.makeAvailable(connection, until: start) }
    for (index, connection) in connections.enumerated() {
      #expect(pool.finish(exchanges[index], on: connection))
      _ = pool.makeAvailable(connection, until: start + .seconds(index))
    }
    pool.effects = PoolDriver.Pool.Effects()
    _ = pool.lease(Exchange(), "b")
    #expect(pool.effects.closing.count == 1)
    #expect(pool.effects.closing.first === connections[0])
    #expect(pool.effects.opening.first?.route == "b")
  }

  @Test func `a connection that becomes idle is closed at once for another route that waits for room`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let first = Exchange()
    _ = pool.lease(first, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: start)
    _ = pool.lease(Exchange(), "b")
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.effects.opening.first?.route == "b")
  }

  @Test func `one failed attempt fails one exchange, the oldest`() throws {
    let pool = PoolDriver(perRoute: 1)
    let (first, second) = (Exchange(), Exchange())
    _ = pool.lease(first, "a")
    _ = pool.lease(second, "a")
    let attempt = try #require(pool.effects.opening.first)
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.removeUnopened(attempt) === first)
    #expect(pool.effects.opening.count == 1)
    #expect(pool.counts.waiting == 1)
  }

  @Test func `an exchange waits for the busy connections of its route where descriptors run out`() throws {
    let pool = PoolDriver()
    let (first, second) = (Exchange(), Exchange())
    let connection = try open(for: first, "a", in: pool)
    #expect(pool.lease(second, "a") == nil)
    let attempt = try #require(pool.effects.opening.last)
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil)
    #expect(pool.effects.opening.isEmpty)
    #expect(pool.counts.waiting == 1)
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) === second)
  }

  @Test func `one connection at a time is attempted until one opens where descriptors run out`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8)
    let (first, waiting) = (Exchange(), (0..<5).map { _ in Exchange() })
    let connection = try open(for: first, "a", in: pool)
    for exchange in waiting { #expect(pool.lease(exchange, "a") == nil) }
    for attempt in pool.effects.opening.suffix(5) {
      #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil)
    }
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) === waiting[0])
    #expect(pool.effects.opening.isEmpty)
    for _ in 0..<2 {
      pool.probe()
      #expect(pool.effects.opening.count == 1)
      let attempt = try #require(pool.takeOpening())
      #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil)
      #expect(pool.effects.opening.isEmpty)
    }
    pool.probe()
    #expect(try pool.makeAvailable(#require(pool.effects.opening.first), until: start) === waiting[1])
    // Those that can be opened make room for more.
    #expect(pool.effects.opening.count == 3)
  }

  @Test func `a route that loses its last connection opens another where descriptors run out`() throws {
    let pool = PoolDriver()
    let (first, second) = (Exchange(), Exchange())
    let connection = try open(for: first, "a", in: pool)
    #expect(pool.lease(second, "a") == nil)
    #expect(try pool.removeUnopened(#require(pool.effects.opening.last), shortage: .ofDescriptors) == nil)
    pool.effects = PoolDriver.Pool.Effects()
    _ = pool.remove(connection)
    let attempt = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(attempt, until: start) === second)
  }

  @Test func `T7: a first request that finds no descriptor waits until there is one`() throws {
    let pool = PoolDriver()
    let exchange = Exchange()
    #expect(pool.lease(exchange, "a") == nil)
    for _ in 0..<3 {
      let attempt = try #require(pool.takeOpening())
      #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil)
      #expect(pool.effects.opening.isEmpty, "it is tried again at once")
      #expect(pool.isShort)
      pool.probe()
    }
    #expect(try pool.makeAvailable(#require(pool.takeOpening()), until: start) === exchange)
  }

  @Test func `T7: exchanges all of whose connections are still opening wait for those that can be opened`() throws {
    let pool = PoolDriver(perRoute: 4, total: 4)
    let exchanges = (0..<4).map { _ in Exchange() }
    for exchange in exchanges { #expect(pool.lease(exchange, "a") == nil) }
    let attempts = pool.effects.opening
    pool.effects = PoolDriver.Pool.Effects()
    for attempt in attempts[1...] { #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil) }
    #expect(pool.makeAvailable(attempts[0], until: start) === exchanges[0])
    #expect(pool.counts.waiting == 3)
  }

  @Test func `a first request to another server gets the place of a busy connection in a shortage`() throws {
    let pool = PoolDriver()
    let (first, second) = (Exchange(), Exchange())
    let connection = try open(for: first, "a", in: pool)
    #expect(pool.lease(second, "b") == nil)
    #expect(try pool.removeUnopened(#require(pool.effects.opening.last), shortage: .ofDescriptors) == nil)
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.effects.opening.map(\.route) == ["b"])
  }

  // MARK: - Streams

  @Test func `streams take no place of requests, and have a limit of their own`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 2)
    for _ in 0..<2 {
      #expect(pool.hasRoomForStream(on: "a"))
      let stream = Exchange()
      #expect(pool.lease(stream, "a", isStream: true) == nil)
      #expect(try pool.makeAvailable(#require(pool.takeOpening()), until: start) === stream)
    }
    #expect(!pool.hasRoomForStream(on: "a"))
    #expect(pool.hasRoomForStream(on: "b"))
    #expect(pool.counts == .init(streams: 2))
    let request = Exchange()
    #expect(pool.lease(request, "a") == nil)
    #expect(try pool.makeAvailable(#require(pool.takeOpening()), until: start) === request)
    #expect(pool.counts == .init(busy: 1, streams: 2))
  }

  @Test func `a stream that gets an idle connection makes room for another one`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let (first, stream, request) = (Exchange(), Exchange(), Exchange())
    let connection = try open(for: first, "a", in: pool)
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.lease(stream, "a", isStream: true) === connection)
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.lease(request, "a") == nil)
    #expect(pool.effects.opening.count == 1)
  }

  @Test func `a request that turns out to be a stream frees its place for the one that waits`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 1)
    let (stream, request) = (Exchange(), Exchange())
    let connection = try open(for: stream, "a", in: pool)
    #expect(pool.lease(request, "a") == nil)
    pool.effects = PoolDriver.Pool.Effects()
    pool.becomeStream(stream)
    pool.becomeStream(stream)
    let second = try #require(pool.takeOpening())
    #expect(pool.makeAvailable(second, until: start) === request)
    // There is no room for another stream, so it stays what it is.
    pool.becomeStream(request)
    #expect(pool.counts == .init(busy: 1, streams: 1))
    // Its place is taken, so the connection of the stream is not kept.
    #expect(pool.finish(stream, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.effects.closing.contains { $0 === connection })
    #expect(pool.counts == .init(busy: 1))
  }

  @Test func `the connection of a stream that ends is used again, if there is room for it`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let (stream, request) = (Exchange(), Exchange())
    #expect(pool.lease(stream, "a", isStream: true) == nil)
    let connection = try #require(pool.takeOpening())
    #expect(pool.makeAvailable(connection, until: start) === stream)
    #expect(pool.finish(stream, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.lease(request, "a") === connection)
  }

  @Test func `streams that end in any way leave no place taken`() throws {
    let pool = PoolDriver(perRoute: 4, total: 4, streams: 3)
    let streams = (0..<3).map { _ in Exchange() }
    for stream in streams { #expect(pool.lease(stream, "a", isStream: true) == nil) }
    let connections = pool.effects.opening
    #expect(!pool.hasRoomForStream(on: "a"))
    #expect(pool.cancel(streams[2]))
    for connection in connections[..<2] { _ = pool.makeAvailable(connection, until: start) }
    #expect(pool.cancel(streams[0]))
    #expect(pool.remove(connections[1])?.exchange === streams[1])
    #expect(pool.isEmpty)
    #expect(pool.counts == .init())
  }

  @Test func `a connection is fresh for the exchange that it was opened for, and for no other`() throws {
    let pool = PoolDriver()
    let (first, second) = (Exchange(), Exchange())
    _ = pool.lease(first, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: start)
    _ = pool.finish(first, on: connection)
    _ = pool.makeAvailable(connection, until: start)
    _ = pool.lease(second, "a")
    #expect(pool.remove(connection)?.isFresh == false)
    _ = pool.lease(second, "b")
    let other = try #require(pool.effects.opening.last)
    _ = pool.makeAvailable(other, until: start)
    #expect(pool.remove(other)?.isFresh == true)
  }

  @Test func `a connection that has been idle for long enough is closed`() throws {
    let pool = PoolDriver()
    let exchange = Exchange()
    _ = pool.lease(exchange, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: start)
    _ = pool.finish(exchange, on: connection)
    _ = pool.makeAvailable(connection, until: start + .seconds(5))
    pool.effects = PoolDriver.Pool.Effects()
    #expect(pool.removeExpired(at: start) == start + .seconds(5))
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.removeExpired(at: start + .seconds(5)) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.isEmpty)
  }

  @Test func `a connection without an idle limit is closed for another route, too`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let (first, end) = (Exchange(), Instant(nanoseconds: .max))
    _ = pool.lease(first, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: end)
    #expect(pool.finish(first, on: connection))
    _ = pool.makeAvailable(connection, until: end)
    pool.effects = PoolDriver.Pool.Effects()
    _ = pool.lease(Exchange(), "b")
    #expect(pool.effects.closing.first === connection)
    #expect(pool.effects.opening.first?.route == "b")
  }

  @Test func `a failed attempt that no exchange needs fails none`() throws {
    let pool = PoolDriver(perRoute: 3, total: 3)
    let exchanges = (0..<3).map { _ in Exchange() }
    _ = pool.lease(exchanges[0], "a")
    let busy = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(busy, until: start)
    for exchange in exchanges[1...] { _ = pool.lease(exchange, "a") }
    let attempts = Array(pool.effects.opening.suffix(2))
    #expect(pool.finish(exchanges[0], on: busy))
    #expect(pool.makeAvailable(busy, until: start) === exchanges[1])
    #expect(pool.removeUnopened(attempts[0]) == nil)
    #expect(pool.makeAvailable(attempts[1], until: start) === exchanges[2])
  }

  @Test
  func
    `exchanges that leave cancel the connections that were opened for them, and leave the oldest to those that wait`()
  {
    let pool = PoolDriver(perRoute: 8, total: 8)
    let patient = Exchange()
    _ = pool.lease(patient, "a")
    let oldest = pool.effects.opening.first
    for _ in 0..<3 {
      let impatient = Exchange()
      _ = pool.lease(impatient, "a")
      pool.effects = PoolDriver.Pool.Effects()
      #expect(pool.cancel(impatient))
      #expect(pool.effects.closing.count == 1)
      #expect(pool.effects.closing.first !== oldest)
    }
    #expect(pool.cancel(patient))
    #expect(pool.effects.closing.last === oldest)
    #expect(pool.isEmpty)
  }

  @Test func `the first exchange in the queue takes the stuck attempt with it`() {
    let pool = PoolDriver(perRoute: 8, total: 8)
    let exchanges = (0..<3).map { _ in Exchange() }
    for exchange in exchanges { _ = pool.lease(exchange, "a") }
    let attempts = pool.effects.opening
    for (exchange, attempt) in zip(exchanges, attempts) {
      pool.effects = PoolDriver.Pool.Effects()
      #expect(pool.cancel(exchange))
      #expect(pool.effects.closing.count == 1)
      #expect(pool.effects.closing.first === attempt)
    }
  }

  @Test func `a route whose only exchange is cancelled before it has a connection is released`() {
    let (pool, exchange) = (PoolDriver(), Exchange())
    _ = pool.lease(exchange, "a")
    weak let group = pool.group("a")
    #expect(group != nil)
    #expect(pool.cancel(exchange))
    #expect(pool.isEmpty)
    pool.effects = PoolDriver.Pool.Effects()
    #expect(group == nil)
  }

  @Test func `an exchange that has left the queue is released at once`() {
    let pool = PoolDriver(perRoute: 1)
    _ = pool.lease(Exchange(), "a")
    weak var gone: Exchange?
    do {
      let left = Exchange()
      gone = left
      _ = pool.lease(left, "a")
      #expect(pool.cancel(left))
    }
    #expect(gone == nil)
  }
}
