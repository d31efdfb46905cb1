import Foundation
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Who gets the room that there is: among many routes, among busy ones, and in a shortage.
@Suite struct ConnectionPoolFairnessTests {
  private typealias Exchange = PoolDriver.Exchange

  private let end = Instant(nanoseconds: .max)

  private func time(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }

  /// Opens a connection for an exchange that is the only one to wait.
  private func open(for exchange: Exchange, _ route: String, in pool: PoolDriver) throws -> PoolDriver.Connection {
    #expect(pool.lease(exchange, route, usedSince: end) == nil)
    let connection = try #require(pool.takeOpening())
    #expect(pool.makeAvailable(connection, until: end) === exchange)
    return connection
  }

  /// Makes idle connections, used at the times 1, 2 and so on.
  private func makeIdle(_ count: Int, _ route: String, in pool: PoolDriver) throws -> [PoolDriver.Connection] {
    let exchanges = (0..<count).map { _ in Exchange() }
    let connections = try exchanges.map { try open(for: $0, route, in: pool) }
    for (index, connection) in connections.enumerated() {
      #expect(pool.finish(exchanges[index], on: connection))
      #expect(pool.makeAvailable(connection, at: time(Int64(index) + 1), until: end) == nil)
    }
    return connections
  }

  // A look at every route in each call would take a quarter of an hour.
  @Test(.timeLimit(.minutes(1)))
  func `each of 20,000 routes costs a few moves in the heaps, and no look at the others`() throws {
    let pool = PoolDriver(perRoute: 2, total: 512)
    let count = 20_000
    for number in 0..<count { #expect(pool.lease(Exchange(), "\(number)") == nil) }
    var closed = 0
    for number in 0..<count {
      let connection = pool.effects.opening[number]
      let exchange = try #require(pool.makeAvailable(connection, until: time(Int64(number))))
      #expect(pool.finish(exchange, on: connection))
      #expect(pool.makeAvailable(connection, until: time(Int64(number))) == nil)
      closed = pool.effects.closing.count
    }
    #expect(closed == count - 512)
    #expect(pool.counts.idle == 512)
    let exchanges = (0..<count).map { _ in Exchange() }
    for (number, exchange) in exchanges.enumerated() { _ = pool.lease(exchange, "\(number)", usedSince: end) }
    for exchange in exchanges { #expect(pool.cancel(exchange)) }
    _ = pool.removeExpired(at: end)
    #expect(pool.isEmpty)
    // Each route entered a heap twice and left it twice, and none is deeper than 15 levels.
    #expect(pool.moves <= 4 * 15 * count)
  }

  @Test func `a request on a kept connection moves nothing in the heaps`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8)
    _ = try makeIdle(8, "a", in: pool)
    let moves = pool.moves
    for number in 0..<1000 {
      let exchange = Exchange()
      let connection = try #require(pool.lease(exchange, "a"))
      #expect(pool.finish(exchange, on: connection))
      #expect(pool.makeAvailable(connection, at: time(Int64(number) + 9), until: end) == nil)
    }
    #expect(pool.moves == moves)
  }

  @Test func `a connection that was used since its time was noted is not the first to expire`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2)
    let exchanges = [Exchange(), Exchange()]
    let connections = try exchanges.map { try open(for: $0, "a", in: pool) }
    for (index, connection) in connections.enumerated() {
      #expect(pool.finish(exchanges[index], on: connection))
      _ = pool.makeAvailable(connection, at: time(1), until: time(5 - Int64(index)))
    }
    #expect(pool.lease(exchanges[1], "a") === connections[1])
    #expect(pool.removeExpired(at: time(3)) == time(5))
    #expect(pool.finish(exchanges[1], on: connections[1]))
    _ = pool.makeAvailable(connections[1], at: time(4), until: time(9))
    #expect(pool.removeExpired(at: time(5)) == time(9))
    #expect(pool.effects.closing.count == 1)
    #expect(pool.effects.closing.first === connections[0])
    // A server may also say that it keeps a connection for a shorter time than before.
    #expect(pool.lease(exchanges[0], "a") === connections[1])
    #expect(pool.finish(exchanges[0], on: connections[1]))
    _ = pool.makeAvailable(connections[1], at: time(6), until: time(7))
    #expect(pool.removeExpired(at: time(6)) == time(7))
    #expect(pool.removeExpired(at: time(7)) == nil)
    #expect(pool.isEmpty)
  }

  @Test func `a busy route yields to one whose only connection never becomes free`() throws {
    let pool = PoolDriver(perRoute: 4, total: 4)
    _ = try open(for: Exchange(), "endless", in: pool)
    var running: [(Exchange, PoolDriver.Connection)] = []
    for _ in 0..<3 {
      let exchange = Exchange()
      running.append((exchange, try open(for: exchange, "busy", in: pool)))
    }
    let starving = Exchange()
    #expect(pool.lease(starving, "endless", usedSince: end) == nil)
    for _ in 0..<8 { #expect(pool.lease(Exchange(), "busy") == nil) }
    var served = 0
    while pool.effects.opening.isEmpty {
      let (exchange, connection) = running.removeFirst()
      #expect(pool.finish(exchange, on: connection))
      guard let next = pool.makeAvailable(connection, until: end) else { break }
      served += 1
      try #require(served <= 4, "As many may go first as there may be connections.")
      running.append((next, connection))
      #expect(pool.lease(Exchange(), "busy") == nil)
    }
    let connection = try #require(pool.effects.opening.first)
    #expect(connection.route == "endless")
    #expect(pool.makeAvailable(connection, until: end) === starving)
    #expect(served == 4)
  }

  @Test func `two busy routes that share the room do not take each other's connections`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2)
    var running: [(Exchange, PoolDriver.Connection)] = []
    for route in ["a", "b"] {
      let exchange = Exchange()
      running.append((exchange, try open(for: exchange, route, in: pool)))
    }
    for route in ["a", "b", "a", "b"] { #expect(pool.lease(Exchange(), route) == nil) }
    for _ in 0..<100 {
      let (exchange, connection) = running.removeFirst()
      #expect(pool.finish(exchange, on: connection))
      running.append((try #require(pool.makeAvailable(connection, until: end)), connection))
      #expect(pool.lease(Exchange(), connection.route) == nil)
    }
    #expect(pool.effects.closing.isEmpty)
  }

  // MARK: - Connections that may be dead

  @Test func `an exchange that must not use long-idle connections gets a new one, and others the idle ones`() throws {
    let pool = PoolDriver(perRoute: 3, total: 8)
    let idle = try makeIdle(2, "a", in: pool)
    let (hesitant, other) = (Exchange(), Exchange())
    #expect(pool.lease(hesitant, "a", usedSince: time(3)) == nil)
    #expect(pool.effects.opening.count == 1)
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.lease(other, "a", usedSince: time(2)) === idle[1])
    // A connection that has just become free is as good as a new one.
    #expect(pool.finish(other, on: idle[1]))
    #expect(pool.makeAvailable(idle[1], at: time(4), until: end) === hesitant)
    #expect(pool.counts == .init(opening: 1, idle: 1, busy: 1))
  }

  @Test func `a long-idle connection makes room where a route has all its connections`() throws {
    let pool = PoolDriver(perRoute: 2, total: 8)
    let idle = try makeIdle(2, "a", in: pool)
    #expect(pool.lease(Exchange(), "a", usedSince: time(3)) == nil)
    #expect(pool.effects.opening.count == 1)
    #expect(pool.effects.closing.count == 1)
    #expect(pool.effects.closing.first === idle[0])
  }

  @Test func `a silent connection is closed together with those that have not been used since it was`() throws {
    let pool = PoolDriver(perRoute: 3, total: 8)
    let idle = try makeIdle(3, "a", in: pool)
    let elsewhere = try makeIdle(1, "b", in: pool)
    let exchanges = [Exchange(), Exchange()]
    for (index, exchange) in exchanges.enumerated() { #expect(pool.lease(exchange, "a") === idle[2 - index]) }
    #expect(pool.finish(exchanges[0], on: idle[2]))
    #expect(pool.makeAvailable(idle[2], at: time(4), until: end) == nil)
    #expect(pool.cancel(exchanges[1], isSilent: true))
    #expect(pool.effects.closing.count == 2)
    #expect(pool.effects.closing.first === idle[1])
    #expect(pool.effects.closing.last === idle[0])
    #expect(pool.lease(Exchange(), "a") === idle[2])
    #expect(pool.lease(Exchange(), "b") === elsewhere[0])
  }

  // MARK: - Shortages

  @Test func `an idle connection of another route is closed for a waiting exchange where descriptors run out`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8)
    let idle = try makeIdle(2, "a", in: pool)
    let exchange = Exchange()
    #expect(pool.lease(exchange, "b") == nil)
    for number in 0..<2 {
      let attempt = try #require(pool.takeOpening())
      #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil)
      #expect(pool.effects.closing.last === idle[number])
      #expect(pool.effects.opening.map(\.route) == ["b"])
    }
    // None is left: it waits for what else holds descriptors.
    let attempt = try #require(pool.takeOpening())
    #expect(pool.removeUnopened(attempt, shortage: .ofDescriptors) == nil)
    #expect(pool.counts == .init(waiting: 1))
    #expect(pool.isShort)
  }

  @Test func `connections to other routes are kept where ports run out`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8)
    _ = try makeIdle(2, "a", in: pool)
    let (running, second, third) = (Exchange(), Exchange(), Exchange())
    let connection = try open(for: running, "b", in: pool)
    #expect(pool.lease(second, "b") == nil)
    #expect(try pool.removeUnopened(#require(pool.takeOpening()), shortage: .ofPorts) == nil)
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.effects.opening.isEmpty)
    #expect(pool.lease(third, "c") == nil)
    #expect(pool.effects.opening.map(\.route) == ["c"])
    pool.effects = PoolDriver.Pool.Effects()
    pool.probe()
    #expect(pool.effects.opening.map(\.route) == ["b"])
    #expect(try pool.removeUnopened(#require(pool.effects.opening.first), shortage: .ofPorts) == nil)
    #expect(pool.finish(running, on: connection))
    #expect(pool.makeAvailable(connection, until: end) === second)
  }

  @Test func `a shortage is over when no exchange waits`() throws {
    let pool = PoolDriver(perRoute: 4, total: 4)
    _ = try open(for: Exchange(), "a", in: pool)
    let waiting = Exchange()
    #expect(pool.lease(waiting, "a") == nil)
    #expect(try pool.removeUnopened(#require(pool.takeOpening()), shortage: .ofDescriptors) == nil)
    #expect(pool.isShort)
    #expect(pool.room == 1)
    #expect(pool.cancel(waiting))
    pool.probe()
    #expect(!pool.isShort)
    #expect(pool.room == 4)
    #expect(pool.effects.opening.isEmpty)
  }

  @Test func `a busy route yields to one that has waited longer in a shortage, too`() throws {
    let pool = PoolDriver(perRoute: 4, total: 8)
    let (running, starving, next) = (Exchange(), Exchange(), Exchange())
    let connection = try open(for: running, "a", in: pool)
    #expect(pool.lease(Exchange(), "a") == nil)
    #expect(try pool.removeUnopened(#require(pool.takeOpening()), shortage: .ofDescriptors) == nil)
    #expect(pool.lease(starving, "b") == nil)
    #expect(pool.lease(next, "a") == nil)
    #expect(pool.effects.opening.isEmpty)
    #expect(pool.finish(running, on: connection))
    let second = try #require(pool.makeAvailable(connection, until: end))
    #expect(pool.finish(second, on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.effects.closing.last === connection)
    #expect(pool.effects.opening.map(\.route) == ["b"])
  }
}
