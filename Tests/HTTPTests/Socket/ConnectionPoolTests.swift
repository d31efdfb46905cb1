import Foundation
import Testing

@testable import HTTP

@Suite struct ConnectionPoolTests {
  final class Connection: Sendable {
    let route: String
    init(route: String) { self.route = route }
  }

  final class Exchange: Sendable {}

  typealias Pool = HTTP.ConnectionPool<String, Connection, Exchange>

  private let start = Instant.now

  private func pool(perRoute: Int = 2, total: Int = 3) -> Driver {
    Driver(Pool(limits: .init(perRoute: perRoute, total: total)) { Connection(route: $0) })
  }

  /// A pool, and what it has said is to be done.
  final class Driver {
    private var pool: Pool
    var effects = Pool.Effects()

    init(_ pool: Pool) { self.pool = pool }

    var counts: (opening: Int, idle: Int, busy: Int, waiting: Int, exchanges: Int) { pool.counts }
    var isEmpty: Bool { pool.isEmpty }
    var exchangesUnderWay: Int { pool.exchangesUnderWay }

    func lease(_ exchange: Exchange, _ route: String) -> Connection? { pool.lease(exchange, route, &effects) }
    func finish(_ exchange: Exchange, on connection: Connection) -> Bool { pool.finish(exchange, on: connection) }
    func cancel(_ exchange: Exchange) -> Bool { pool.cancel(exchange, &effects) }
    func remove(_ connection: Connection) -> Pool.Orphan? { pool.remove(connection, &effects) }
    func removeUnopened(_ connection: Connection) -> Exchange? { pool.removeUnopened(connection, &effects) }
    func removeExpired(at now: Instant) -> Instant? {
      pool.removeExpired(at: now, &effects)
    }
    func makeAvailable(_ connection: Connection, until: Instant) -> Exchange? {
      pool.makeAvailable(connection, until: until, &effects)
    }
  }

  @Test func `under way is what has a connection, and not what waits for one`() throws {
    let pool = pool(perRoute: 1)
    let (first, second) = (Exchange(), Exchange())
    #expect(pool.lease(first, "a") == nil)
    #expect(pool.lease(second, "a") == nil)
    #expect(pool.exchangesUnderWay == 0)
    let connection = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(connection, until: start + .seconds(1)) === first)
    #expect(pool.exchangesUnderWay == 1)
    #expect(pool.finish(first, on: connection))
    #expect(pool.exchangesUnderWay == 0)
  }

  @Test func `an exchange waits until its connection is opened, and finds it idle the next time`() throws {
    let pool = pool()
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
    let pool = pool()
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

  @Test func `a connection that dies makes room for the one who waits, though the one before has left`() throws {
    let pool = pool(perRoute: 1)
    let (running, left, waiting) = (Exchange(), Exchange(), Exchange())
    _ = pool.lease(running, "a")
    let connection = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(connection, until: start) === running)
    _ = pool.lease(left, "a")
    _ = pool.lease(waiting, "a")
    #expect(pool.cancel(left))
    pool.effects = Pool.Effects()
    #expect(pool.remove(connection)?.exchange === running)
    let next = try #require(pool.effects.opening.first)
    #expect(pool.makeAvailable(next, until: start) === waiting)
  }

  @Test func `a cancelled exchange takes its connection with it, and its late answer finds nobody`() throws {
    let pool = pool()
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

  @Test func `an idle connection gives way to another route when the whole is full`() throws {
    let pool = pool(perRoute: 3, total: 3)
    let exchanges = (0..<3).map { _ in Exchange() }
    for exchange in exchanges { _ = pool.lease(exchange, "a") }
    let connections = pool.effects.opening
    for connection in connections { _ = pool.makeAvailable(connection, until: start) }
    for (index, connection) in connections.enumerated() {
      #expect(pool.finish(exchanges[index], on: connection))
      _ = pool.makeAvailable(connection, until: start + .seconds(index))
    }
    pool.effects = Pool.Effects()
    _ = pool.lease(Exchange(), "b")
    #expect(pool.effects.closing.count == 1 && pool.effects.closing.first === connections[0])
    #expect(pool.effects.opening.first?.route == "b")
  }

  @Test func `a connection that falls idle gives way at once to another route that waits for room`() throws {
    let pool = pool(perRoute: 1, total: 1)
    let first = Exchange()
    _ = pool.lease(first, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: start)
    _ = pool.lease(Exchange(), "b")
    pool.effects = Pool.Effects()
    #expect(pool.finish(first, on: connection))
    #expect(pool.makeAvailable(connection, until: start) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.effects.opening.first?.route == "b")
  }

  @Test func `one failed attempt fails one exchange, the oldest`() throws {
    let pool = pool(perRoute: 1)
    let (first, second) = (Exchange(), Exchange())
    _ = pool.lease(first, "a")
    _ = pool.lease(second, "a")
    let attempt = try #require(pool.effects.opening.first)
    pool.effects = Pool.Effects()
    #expect(pool.removeUnopened(attempt) === first)
    #expect(pool.effects.opening.count == 1)
    #expect(pool.counts.waiting == 1)
  }

  @Test func `a connection is fresh for the exchange that it was opened for, and for no other`() throws {
    let pool = pool()
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

  @Test func `what has been idle for long enough goes`() throws {
    let pool = pool()
    let exchange = Exchange()
    _ = pool.lease(exchange, "a")
    let connection = try #require(pool.effects.opening.first)
    _ = pool.makeAvailable(connection, until: start)
    _ = pool.finish(exchange, on: connection)
    _ = pool.makeAvailable(connection, until: start + .seconds(5))
    pool.effects = Pool.Effects()
    #expect(pool.removeExpired(at: start) == start + .seconds(5))
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.removeExpired(at: start + .seconds(5)) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.isEmpty)
  }

  /// Random operations against a model of what each exchange and connection is doing.
  @Test(arguments: 0..<20)
  func `a free place and one who waits for it never exist together`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let limits = (perRoute: 3, total: 5)
    let pool = pool(perRoute: limits.perRoute, total: limits.total)
    var model = Model()
    for _ in 0..<2_000 {
      pool.effects = Pool.Effects()
      switch Int.random(in: 0..<8, using: &generator) {
      case 0, 1, 2:
        let (exchange, route) = (Exchange(), ["a", "b", "c"].randomElement(using: &generator) ?? "a")
        let connection = pool.lease(exchange, route)
        model.didLease(exchange, route, connection)
      case 3:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.didMakeAvailable(opening, pool.makeAvailable(opening, until: start))
      case 4:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.gone(opening)
        if let failed = pool.removeUnopened(opening) { model.end(failed) }
      case 5:
        guard let busy = model.random(.busy, &generator), let exchange = model.owner(of: busy) else { continue }
        #expect(pool.finish(exchange, on: busy))
        model.end(exchange)
        model.didMakeAvailable(busy, pool.makeAvailable(busy, until: start))
      case 6:
        guard let connection = model.random(nil, &generator) else { continue }
        let orphan = pool.remove(connection)
        #expect(orphan?.exchange === model.owner(of: connection))
        if let orphan { model.end(orphan.exchange) }
        model.gone(connection)
      default:
        guard let exchange = model.exchanges.randomElement(using: &generator)?.value.exchange else { continue }
        #expect(pool.cancel(exchange))
        model.end(exchange)
      }
      model.apply(pool.effects)
      let counts = pool.counts
      #expect(counts.opening == model.count(.opening))
      #expect(counts.idle == model.count(.idle))
      #expect(counts.busy == model.count(.busy))
      #expect(counts.exchanges == model.exchanges.count)
      #expect(model.connections.count <= limits.total)
      for route in ["a", "b", "c"] {
        let waiting = model.waiting(for: route)
        let own = model.connections.values.filter { $0.connection.route == route }
        #expect(own.count <= limits.perRoute)
        guard waiting > own.count(where: { $0.phase == .opening }) else { continue }
        #expect(!own.contains { $0.phase == .idle })
        let isFull = model.connections.count == limits.total && model.count(.idle) == 0
        #expect(own.count == limits.perRoute || isFull)
      }
    }
  }

  /// What the pool was told, kept in the simplest way.
  struct Model {
    enum Phase { case opening, idle, busy }

    struct Held {
      let exchange: Exchange
      let route: String
      var connection: Connection?
    }

    var connections: [ObjectIdentifier: (connection: Connection, phase: Phase)] = [:]
    var exchanges: [ObjectIdentifier: Held] = [:]

    mutating func didLease(_ exchange: Exchange, _ route: String, _ connection: Connection?) {
      exchanges[ObjectIdentifier(exchange)] = Held(exchange: exchange, route: route, connection: connection)
      if let connection { connections[ObjectIdentifier(connection)]?.phase = .busy }
    }

    mutating func didMakeAvailable(_ connection: Connection, _ next: Exchange?) {
      connections[ObjectIdentifier(connection)]?.phase = next == nil ? .idle : .busy
      if let next { exchanges[ObjectIdentifier(next)]?.connection = connection }
    }

    mutating func end(_ exchange: Exchange) { exchanges[ObjectIdentifier(exchange)] = nil }

    mutating func gone(_ connection: Connection) { connections[ObjectIdentifier(connection)] = nil }

    mutating func apply(_ effects: Pool.Effects) {
      for connection in effects.closing { gone(connection) }
      for connection in effects.opening { connections[ObjectIdentifier(connection)] = (connection, .opening) }
    }

    func count(_ phase: Phase) -> Int { connections.values.count { $0.phase == phase } }

    func waiting(for route: String) -> Int {
      exchanges.values.count { $0.route == route && $0.connection == nil }
    }

    func owner(of connection: Connection) -> Exchange? {
      exchanges.values.first { $0.connection === connection }?.exchange
    }

    func random(_ phase: Phase?, _ generator: inout SeededGenerator) -> Connection? {
      let found = connections.values.filter { phase == nil || $0.phase == phase }
      return found.randomElement(using: &generator)?.connection
    }
  }
}

/// Numbers that are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
