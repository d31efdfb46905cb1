import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct ConnectionPoolModelTests {
  private typealias Exchange = PoolDriver.Exchange

  private let start = Instant.now

  /// Random operations against a model of what each exchange and connection is doing.
  @Test(arguments: 0..<20)
  func `a free place and an exchange that waits for it never exist together`(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let limits = (perRoute: 3, total: 5)
    let pool = PoolDriver(perRoute: limits.perRoute, total: limits.total, streams: 2)
    var model = PoolModel()
    /// The room of routes whose ports ran out.
    var rooms: [String: Int] = [:]
    /// When the model's clock stands.
    var now = Instant(nanoseconds: 1)
    for _ in 0..<2_000 {
      pool.effects = PoolDriver.Pool.Effects()
      now = now + .nanoseconds(1)
      switch Int.random(in: 0..<12, using: &generator) {
      case 0, 1, 2:
        let (exchange, route) = (Exchange(), ["a", "b", "c"].randomElement(using: &generator) ?? "a")
        let oldest = Bool.random(using: &generator) ? now + .nanoseconds(-5) : Instant(nanoseconds: 0)
        let latest = model.latestUse(of: route)
        let hasRoom = model.exchanges.values.count { $0.isStream && $0.route == route } < 2
        #expect(pool.hasRoomForStream(on: route) == hasRoom)
        let isStream = hasRoom && Bool.random(using: &generator)
        let connection = pool.lease(exchange, route, usedSince: oldest, isStream: isStream)
        #expect((connection != nil) == latest.map { $0 >= oldest } ?? false)
        model.didLease(exchange, route, connection, usedSince: oldest, isStream: isStream)
      case 11:
        guard let busy = model.random(.busy, &generator), let exchange = model.owner(of: busy) else { continue }
        if pool.hasRoomForStream(on: busy.route) { model.exchanges[ObjectIdentifier(exchange)]?.isStream = true }
        pool.becomeStream(exchange)
      case 3:
        guard let opening = model.random(.opening, &generator) else { continue }
        rooms[opening.route]? += 2
        model.didMakeAvailable(opening, at: now, pool.makeAvailable(opening, at: now, until: start))
      case 4:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.gone(opening)
        if let failed = pool.removeUnopened(opening) { model.end(failed) }
      case 7:
        guard let opening = model.random(.opening, &generator) else { continue }
        model.gone(opening)
        let own = model.placed(on: opening.route)
        let isConnected = own.contains { $0.phase != .opening }
        let isOfPorts = Bool.random(using: &generator)
        let failed = pool.removeUnopened(opening, shortage: isOfPorts ? .ofPorts : .ofDescriptors)
        if let failed { model.end(failed) }
        if isOfPorts, isConnected { rooms[opening.route] = own.count }
        if isOfPorts {
          #expect(!isConnected || failed == nil)
        } else {
          // Whoever is tried for next takes the place of an idle connection.
          #expect(failed == nil)
          #expect(pool.effects.closing.count >= pool.effects.opening.count)
        }
      case 9:
        pool.probe()
        for route in rooms.keys { rooms[route]? += model.waiting(for: route) == 0 ? limits.perRoute : 1 }
        #expect(model.exchanges.values.contains { $0.connection == nil } || !pool.isShort)
      case 10:
        guard let exchange = model.exchanges.randomElement(using: &generator)?.value else { continue }
        #expect(pool.cancel(exchange.exchange, isSilent: true))
        model.end(exchange.exchange)
        let closed = pool.effects.closing
        let use = exchange.connection.flatMap { model.connections[ObjectIdentifier($0)]?.lastUse }
        for (connection, phase, lastUse) in model.connections.values where phase == .idle {
          guard let use, connection.route == exchange.route else { continue }
          #expect(closed.contains { $0 === connection } || lastUse > use)
        }
      case 5:
        guard let busy = model.random(.busy, &generator), let exchange = model.owner(of: busy) else { continue }
        #expect(pool.finish(exchange, on: busy))
        model.end(exchange)
        model.didMakeAvailable(busy, at: now, pool.makeAvailable(busy, at: now, until: start))
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
      #expect(counts.streams == model.connections.count - model.placed().count)
      #expect(counts.busy + counts.streams == model.count(.busy))
      #expect(counts.busy + counts.streams + counts.waiting == model.exchanges.count)
      #expect(model.placed().count <= pool.room)
      #expect(pool.room <= limits.total)
      for route in ["a", "b", "c"] {
        let waiting = model.waiting(for: route)
        let own = model.placed(on: route)
        #expect(own.count <= limits.perRoute)
        #expect(!own.contains { idle in idle.phase == .idle && model.isAwaited(idle.lastUse, by: route) })
        guard waiting > own.count(where: { $0.phase == .opening }) else { continue }
        // Not even one that is too old for who waits: it makes room for another.
        #expect(!own.contains { $0.phase == .idle })
        let isFull = model.placed().count == pool.room && model.count(.idle) == 0
        #expect(own.count >= min(rooms[route] ?? limits.perRoute, limits.perRoute) || isFull)
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
    let oldestUse: Instant
    var isStream: Bool
    var connection: PoolDriver.Connection?
  }

  var connections: [ObjectIdentifier: (connection: PoolDriver.Connection, phase: Phase, lastUse: Instant)] = [:]
  var exchanges: [ObjectIdentifier: Held] = [:]

  mutating func didLease(
    _ exchange: PoolDriver.Exchange, _ route: String, _ connection: PoolDriver.Connection?, usedSince oldest: Instant,
    isStream: Bool
  ) {
    exchanges[ObjectIdentifier(exchange)] = Held(
      exchange: exchange, route: route, oldestUse: oldest, isStream: isStream, connection: connection)
    if let connection { connections[ObjectIdentifier(connection)]?.phase = .busy }
  }

  mutating func didMakeAvailable(
    _ connection: PoolDriver.Connection, at now: Instant, _ next: PoolDriver.Exchange?
  ) {
    connections[ObjectIdentifier(connection)]?.phase = next == nil ? .idle : .busy
    connections[ObjectIdentifier(connection)]?.lastUse = now
    if let next { exchanges[ObjectIdentifier(next)]?.connection = connection }
  }

  mutating func end(_ exchange: PoolDriver.Exchange) { exchanges[ObjectIdentifier(exchange)] = nil }

  mutating func gone(_ connection: PoolDriver.Connection) { connections[ObjectIdentifier(connection)] = nil }

  mutating func apply(_ effects: PoolDriver.Pool.Effects) {
    for connection in effects.closing { gone(connection) }
    for connection in effects.opening {
      connections[ObjectIdentifier(connection)] = (connection, .opening, Instant(nanoseconds: 0))
    }
  }

  /// The connections, of one route or all, that take places of requests.
  func placed(
    on route: String? = nil
  ) -> [(connection: PoolDriver.Connection, phase: Phase, lastUse: Instant)] {
    let streams = exchanges.values.filter(\.isStream).compactMap { $0.connection.map { ObjectIdentifier($0) } }
    return connections.filter { !streams.contains($0.key) }.values
      .filter { route == nil || $0.connection.route == route }
  }

  func count(_ phase: Phase) -> Int { connections.values.count { $0.phase == phase } }

  func waiting(for route: String) -> Int {
    exchanges.values.count { $0.route == route && $0.connection == nil }
  }

  /// When the idle connection of a route that was used last was used.
  func latestUse(of route: String) -> Instant? {
    connections.values.filter { $0.connection.route == route && $0.phase == .idle }.map(\.lastUse).max()
  }

  /// Whether an exchange waits that could use a connection that was used then.
  func isAwaited(_ lastUse: Instant, by route: String) -> Bool {
    exchanges.values.contains { $0.route == route && $0.connection == nil && $0.oldestUse <= lastUse }
  }

  func owner(of connection: PoolDriver.Connection) -> PoolDriver.Exchange? {
    exchanges.values.first { $0.connection === connection }?.exchange
  }

  func random(_ phase: Phase?, _ generator: inout SplitMix) -> PoolDriver.Connection? {
    let found = connections.values.filter { phase == nil || $0.phase == phase }
    return found.randomElement(using: &generator)?.connection
  }
}
