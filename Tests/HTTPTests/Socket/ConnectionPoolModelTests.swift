import Foundation
import TestSupport
import Testing

@testable import HTTP

@Suite struct ConnectionPoolModelTests {
  private typealias Exchange = PoolDriver.Exchange

  private let start = Instant.now

  /// Random operations against a model of what each exchange and connection is doing.
  @Test(arguments: 0..<20)
  func `a free place and one who waits for it never exist together`(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let limits = (perRoute: 3, total: 5)
    let pool = PoolDriver(perRoute: limits.perRoute, total: limits.total)
    var model = PoolModel()
    /// Those of which a waiting exchange may rely on the busy connections.
    var shortRoutes: Set<String> = []
    var tightRoutes: Set<String> = []
    for _ in 0..<2_000 {
      pool.effects = PoolDriver.Pool.Effects()
      switch Int.random(in: 0..<9, using: &generator) {
      case 0, 1, 2:
        let (exchange, route) = (Exchange(), ["a", "b", "c"].randomElement(using: &generator) ?? "a")
        let connection = pool.lease(exchange, route)
        model.didLease(exchange, route, connection)
        if connection == nil { shortRoutes = [] }
      case 3:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.didMakeAvailable(opening, pool.makeAvailable(opening, until: start))
        shortRoutes = []
        tightRoutes.remove(opening.route)
      case 4:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.gone(opening)
        if let failed = pool.removeUnopened(opening) { model.end(failed) }
        shortRoutes = []
      case 7:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.gone(opening)
        let others = model.connections.values.filter { $0.connection.route == opening.route && $0.phase != .opening }
        let failed = pool.removeUnopened(opening, isShort: true)
        if let failed { model.end(failed) }
        #expect(others.isEmpty || failed == nil && !pool.effects.opening.contains { $0.route == opening.route })
        shortRoutes = others.isEmpty ? [] : shortRoutes.union([opening.route])
        if !others.isEmpty { tightRoutes.insert(opening.route) }
      case 5:
        guard let busy = model.random(.busy, &generator), let exchange = model.owner(of: busy) else { continue }
        #expect(pool.finish(exchange, on: busy))
        model.end(exchange)
        model.didMakeAvailable(busy, pool.makeAvailable(busy, until: start))
        shortRoutes = []
      case 6:
        guard let connection = model.random(nil, &generator) else { continue }
        let orphan = pool.remove(connection)
        #expect(orphan?.exchange === model.owner(of: connection))
        if let orphan { model.end(orphan.exchange) }
        model.gone(connection)
        shortRoutes = []
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
        // Who waits in a shortage waits for a busy connection of its route.
        let isShort = shortRoutes.contains(route) && own.contains { $0.phase == .busy }
        // After one, a single connection is tried at a time until one opens.
        let isTight = tightRoutes.contains(route) && own.contains { $0.phase == .opening }
        #expect(own.count == limits.perRoute || isFull || isShort || isTight)
      }
    }
  }
}

/// What the pool was told, kept in the simplest way.
private struct PoolModel {
  enum Phase { case opening, idle, busy }

  struct Held {
    let exchange: PoolDriver.Exchange
    let route: String
    var connection: PoolDriver.Connection?
  }

  var connections: [ObjectIdentifier: (connection: PoolDriver.Connection, phase: Phase)] = [:]
  var exchanges: [ObjectIdentifier: Held] = [:]

  mutating func didLease(_ exchange: PoolDriver.Exchange, _ route: String, _ connection: PoolDriver.Connection?) {
    exchanges[ObjectIdentifier(exchange)] = Held(exchange: exchange, route: route, connection: connection)
    if let connection { connections[ObjectIdentifier(connection)]?.phase = .busy }
  }

  mutating func didMakeAvailable(_ connection: PoolDriver.Connection, _ next: PoolDriver.Exchange?) {
    connections[ObjectIdentifier(connection)]?.phase = next == nil ? .idle : .busy
    if let next { exchanges[ObjectIdentifier(next)]?.connection = connection }
  }

  mutating func end(_ exchange: PoolDriver.Exchange) { exchanges[ObjectIdentifier(exchange)] = nil }

  mutating func gone(_ connection: PoolDriver.Connection) { connections[ObjectIdentifier(connection)] = nil }

  mutating func apply(_ effects: PoolDriver.Pool.Effects) {
    for connection in effects.closing { gone(connection) }
    for connection in effects.opening { connections[ObjectIdentifier(connection)] = (connection, .opening) }
  }

  func count(_ phase: Phase) -> Int { connections.values.count { $0.phase == phase } }

  func waiting(for route: String) -> Int {
    exchanges.values.count { $0.route == route && $0.connection == nil }
  }

  func owner(of connection: PoolDriver.Connection) -> PoolDriver.Exchange? {
    exchanges.values.first { $0.connection === connection }?.exchange
  }

  func random(_ phase: Phase?, _ generator: inout SplitMix) -> PoolDriver.Connection? {
    let found = connections.values.filter { phase == nil || $0.phase == phase }
    return found.randomElement(using: &generator)?.connection
  }
}
