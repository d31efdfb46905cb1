import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Connections that carry several exchanges at a time.
@Suite struct ConnectionPoolLimitTests {
  private typealias Exchange = PoolDriver.Exchange

  private let end = Instant(nanoseconds: .max)

  /// A connection with this limit that carries these exchanges, which are fewer.
  private func connection(
    _ limit: Int, _ route: String = "a", carrying exchanges: [Exchange], until end: Instant? = nil, in pool: PoolDriver
  ) throws -> PoolDriver.Connection {
    #expect(pool.lease(exchanges[0], route, usedSince: self.end) == nil)
    let connection = try #require(pool.takeOpening())
    pool.setLimit(limit, of: connection)
    #expect(pool.makeAvailable(connection, until: end ?? self.end) === exchanges[0])
    for exchange in exchanges.dropFirst() { #expect(pool.lease(exchange, route) === connection) }
    pool.effects = PoolDriver.Pool.Effects()
    return connection
  }

  private func exchanges(_ count: Int) -> [Exchange] { (0..<count).map { _ in Exchange() } }

  @Test func `a connection that is opened takes all that wait, up to its limit, and the rest gets others`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2)
    let waiting = exchanges(5)
    for exchange in waiting { #expect(pool.lease(exchange, "a") == nil) }
    let opening = pool.effects.opening
    #expect(opening.count == 2)
    pool.setLimit(3, of: opening[0])
    #expect(pool.makeAvailable(opening[0], until: end) === waiting[0])
    #expect(pool.effects.starting.map { ObjectIdentifier($0.exchange) } == waiting[..<3].map { ObjectIdentifier($0) })
    #expect(pool.effects.starting.allSatisfy { $0.connection === opening[0] })
    pool.setLimit(3, of: opening[1])
    #expect(pool.makeAvailable(opening[1], until: end) === waiting[3])
    #expect(pool.counts == .init(busy: 2))
    #expect(pool.exchangesInFlight == 5)
    #expect(pool.lease(Exchange(), "a") === opening[1])
    #expect(pool.lease(Exchange(), "a") == nil)
  }

  @Test func `as many connections are opened as those that wait need if each takes what the last one did`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8)
    let connection = try connection(10, carrying: exchanges(10), in: pool)
    for _ in 0..<10 { #expect(pool.lease(Exchange(), "a") == nil) }
    #expect(pool.effects.opening.count == 1)
    // It takes fewer than was expected.
    let second = try #require(pool.takeOpening())
    pool.setLimit(4, of: second)
    _ = pool.makeAvailable(second, until: end)
    #expect(pool.counts.waiting == 6)
    #expect(pool.effects.opening.count == 2)
    #expect(connection !== second)
  }

  @Test func `the first connection of a route is expected to carry what is said, and its failure is shared`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8, expectedLimit: 3)
    let waiting = exchanges(5)
    for exchange in waiting { #expect(pool.lease(exchange, "a") == nil) }
    let opening = pool.effects.opening
    #expect(opening.count == 2)
    // Those that the other connection is opened for wait for that.
    #expect(
      pool.failAll(opening: opening[0]).map { ObjectIdentifier($0) } == waiting[..<2].map { ObjectIdentifier($0) })
    #expect(
      pool.failAll(opening: opening[1]).map { ObjectIdentifier($0) } == waiting[2...].map { ObjectIdentifier($0) })
    #expect(pool.isEmpty)
  }

  @Test func `with a connection that is open, one that fails to open fails one exchange alone`() throws {
    let pool = PoolDriver(perRoute: 8, total: 8)
    _ = try connection(3, carrying: exchanges(3), in: pool)
    let waiting = exchanges(3)
    for exchange in waiting { #expect(pool.lease(exchange, "a") == nil) }
    let failing = pool.failAll(opening: try #require(pool.takeOpening()))
    #expect(failing.map { ObjectIdentifier($0) } == [ObjectIdentifier(waiting[0])])
  }

  @Test func `an exchange that is postponed is known, and has no place until it is resumed`() throws {
    let pool = PoolDriver()
    let (exchange, cancelled) = (Exchange(), Exchange())
    pool.postpone(exchange)
    pool.postpone(cancelled)
    #expect(!pool.isEmpty)
    #expect(pool.exchangesInFlight == 0)
    #expect(pool.cancel(cancelled))
    #expect(!pool.resume(cancelled))
    #expect(pool.resume(exchange))
    #expect(!pool.resume(exchange))
    #expect(pool.isEmpty)
  }

  @Test func `a connection that carries something is preferred to one that is idle`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2)
    let (first, second) = (exchanges(1), exchanges(1))
    let idle = try connection(4, carrying: first, in: pool)
    pool.setLimit(1, of: idle)
    let spare = try connection(4, carrying: second, in: pool)
    for connection in [idle, spare] { pool.setLimit(4, of: connection) }
    #expect(pool.finish(first[0], on: idle))
    #expect(pool.makeAvailable(idle, at: Instant(nanoseconds: 9), until: end) == nil)
    #expect(pool.lease(Exchange(), "a") === spare)
    #expect(pool.counts == .init(idle: 1, busy: 1))
  }

  @Test func `T10: a connection that carries something is not idle, however long ago a response came`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2)
    let carried = exchanges(1)
    let connection = try connection(4, carrying: carried, in: pool)
    let (early, late) = (Instant(nanoseconds: 9), Instant(nanoseconds: 99))
    let other = Exchange()
    #expect(pool.lease(other, "a", usedSince: late) === connection)
    for exchange in [carried[0], other] {
      #expect(pool.finish(exchange, on: connection))
      #expect(pool.makeAvailable(connection, at: early, until: end) == nil)
    }
    // It may carry several, and makes sure by itself that its server is there.
    let last = Exchange()
    #expect(pool.lease(last, "a", usedSince: late) === connection)
    pool.setLimit(1, of: connection)
    #expect(pool.finish(last, on: connection))
    #expect(pool.makeAvailable(connection, at: early, until: end) == nil)
    #expect(pool.lease(Exchange(), "a", usedSince: late) == nil)
  }

  @Test func `a connection that is opened carries no more than the server has said of another`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2)
    let first = try connection(8, carrying: exchanges(1), in: pool)
    pool.setLimit(2, of: first)
    let more = exchanges(4)
    for exchange in more { _ = pool.lease(exchange, "a") }
    let second = try #require(pool.takeOpening())
    pool.setLimit(8, of: second)
    #expect(pool.makeAvailable(second, until: end) === more[1])
    #expect(pool.counts.waiting == 1)
  }

  @Test func `a raised limit serves those that wait, and a lowered one takes none until others have ended`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let carried = exchanges(3)
    let connection = try connection(3, carrying: carried, in: pool)
    let waiting = exchanges(2)
    for exchange in waiting { #expect(pool.lease(exchange, "a") == nil) }
    pool.setLimit(4, of: connection)
    #expect(pool.effects.starting.map { ObjectIdentifier($0.exchange) } == [ObjectIdentifier(waiting[0])])
    pool.effects = PoolDriver.Pool.Effects()
    pool.setLimit(2, of: connection)
    for exchange in carried[..<2] {
      #expect(pool.finish(exchange, on: connection))
      #expect(pool.makeAvailable(connection, until: end) == nil)
    }
    #expect(pool.counts == .init(busy: 1, waiting: 1))
    #expect(pool.finish(carried[2], on: connection))
    #expect(pool.makeAvailable(connection, until: end) === waiting[1])
  }

  @Test func `a connection that drains takes nothing new, for good, and is closed after its last exchange`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let carried = exchanges(2)
    let connection = try connection(8, carrying: carried, in: pool)
    pool.setLimit(0, of: connection)
    pool.setLimit(8, of: connection)
    let next = Exchange()
    #expect(pool.lease(next, "a") == nil)
    #expect(pool.effects.opening.isEmpty, "it still takes the only place")
    #expect(pool.finish(carried[0], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.finish(carried[1], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.effects.closing.map { ObjectIdentifier($0) } == [ObjectIdentifier(connection)])
    #expect(try pool.makeAvailable(#require(pool.takeOpening()), until: end) === next)
  }

  @Test func `an idle connection that is to take no more is closed at once`() throws {
    let pool = PoolDriver()
    let carried = exchanges(1)
    let connection = try connection(8, carrying: carried, in: pool)
    #expect(pool.finish(carried[0], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    pool.setLimit(0, of: connection)
    #expect(pool.effects.closing.first === connection)
    #expect(pool.isEmpty)
  }

  @Test func `one of several exchanges is cancelled alone, and its room is given on`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let (carried, waiting) = (exchanges(2), Exchange())
    let connection = try connection(2, carrying: carried, in: pool)
    #expect(pool.lease(waiting, "a") == nil)
    #expect(pool.cancel(carried[0]))
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.effects.cancelling.first?.exchange === carried[0])
    #expect(pool.effects.starting.first?.exchange === waiting)
    #expect(!pool.finish(carried[0], on: connection))
    #expect(pool.finish(carried[1], on: connection))
  }

  @Test func `a connection that has brought a response is fresh for none of the others that it carries`() throws {
    let pool = PoolDriver()
    let carried = exchanges(2)
    let connection = try connection(8, carrying: carried, in: pool)
    #expect(pool.finish(carried[0], on: connection))
    pool.setLimit(0, of: connection)
    #expect(pool.remove(connection)?.isFresh == false)
  }

  @Test func `a connection on which an exchange hears nothing takes no more`() throws {
    let pool = PoolDriver()
    let carried = exchanges(2)
    let connection = try connection(8, carrying: carried, in: pool)
    #expect(pool.cancel(carried[0], isSilent: true))
    #expect(pool.lease(Exchange(), "a") == nil)
    #expect(pool.effects.closing.isEmpty)
    #expect(pool.cancel(carried[1]))
    #expect(pool.effects.closing.first === connection)
  }

  @Test func `a connection that is lost leaves all its exchanges`() throws {
    let pool = PoolDriver()
    let carried = exchanges(3)
    let connection = try connection(8, carrying: carried, in: pool)
    let orphans = Set(pool.removeAll(connection).map { ObjectIdentifier($0.exchange) })
    #expect(orphans == Set(carried.map { ObjectIdentifier($0) }))
    #expect(pool.isEmpty)
  }

  @Test func `a route whose connection is never idle gives it up to another one that waits for room`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1)
    let (carried, starved) = (exchanges(2), Exchange())
    let connection = try connection(8, carrying: carried, in: pool)
    #expect(pool.lease(starved, "b") == nil)
    #expect(pool.finish(carried[0], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.lease(Exchange(), "a") == nil, "it takes no more")
    #expect(pool.finish(carried[1], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.effects.closing.first === connection)
    #expect(try pool.makeAvailable(#require(pool.takeOpening()), until: end) === starved)
  }

  @Test func `a connection takes its place while it takes requests beside its streams`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 8)
    let connection = try connection(2, carrying: exchanges(1), in: pool)
    let (stream, request) = (Exchange(), Exchange())
    #expect(pool.lease(stream, "a", isStream: true) === connection)
    #expect(pool.counts == .init(busy: 1))
    #expect(pool.lease(request, "a") == nil)
    #expect(pool.effects.opening.isEmpty)
  }

  @Test func `a connection that is full of streams takes no place, and one that could find none drains`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 8)
    let streams = exchanges(2)
    #expect(pool.lease(streams[0], "a", isStream: true) == nil)
    let connection = try #require(pool.takeOpening())
    pool.setLimit(2, of: connection)
    #expect(pool.makeAvailable(connection, until: end) === streams[0])
    #expect(pool.lease(streams[1], "a", isStream: true) === connection)
    #expect(pool.counts == .init(streams: 1))
    let request = Exchange()
    #expect(pool.lease(request, "a") == nil)
    let other = try #require(pool.takeOpening())
    #expect(pool.makeAvailable(other, until: end) === request)
    #expect(pool.counts == .init(busy: 1, streams: 1))
    #expect(pool.finish(streams[0], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.counts == .init(busy: 1, streams: 1))
    #expect(pool.finish(streams[1], on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.effects.closing.first === connection)
  }

  @Test(arguments: [false, true])
  func `a connection with room beside its streams takes no more once another route waits`(waitsFirst: Bool) throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 8)
    let (stream, other) = (Exchange(), Exchange())
    let connection = try connection(8, carrying: [stream], in: pool)
    if waitsFirst { #expect(pool.lease(other, "b") == nil) }
    #expect(pool.effects.opening.isEmpty)
    #expect(pool.becomeStream(stream))
    if !waitsFirst { #expect(pool.lease(other, "b") == nil) }
    #expect(try pool.makeAvailable(#require(pool.takeOpening()), until: end) === other)
    #expect(pool.counts == .init(busy: 1, streams: 1))
    #expect(pool.lease(Exchange(), "a") == nil, "it takes no more")
    #expect(pool.finish(stream, on: connection))
    #expect(pool.makeAvailable(connection, until: end) == nil)
    #expect(pool.effects.closing.first === connection)
  }

  @Test(arguments: [false, true])
  func `a connection takes exchanges again if the one that it made room for is not opened`(isCancelled: Bool) throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 8)
    let (stream, other, third) = (Exchange(), Exchange(), Exchange())
    let connection = try connection(8, carrying: [stream], in: pool)
    #expect(pool.becomeStream(stream))
    #expect(pool.lease(other, "b") == nil)
    #expect(pool.lease(third, "a") == nil, "it takes no more")
    if isCancelled {
      #expect(pool.cancel(other))
    } else {
      #expect(try pool.removeUnopened(#require(pool.takeOpening())) === other)
    }
    #expect(pool.effects.starting.map { $0.0 === third } == [true])
    #expect(pool.lease(Exchange(), "a") === connection)
    #expect(pool.counts == .init(busy: 1))
  }

  @Test func `a connection that drains meanwhile takes no exchanges again`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 8)
    let (stream, other) = (Exchange(), Exchange())
    let connection = try connection(8, carrying: [stream], in: pool)
    #expect(pool.becomeStream(stream))
    #expect(pool.lease(other, "b") == nil)
    pool.setLimit(0, of: connection)
    #expect(try pool.removeUnopened(#require(pool.takeOpening())) === other)
    #expect(pool.limit(of: ObjectIdentifier(connection)) == 0)
  }

  @Test func `a limit that a server changes meanwhile is the one that a connection has again`() throws {
    let pool = PoolDriver(perRoute: 1, total: 1, streams: 8)
    let (stream, other) = (Exchange(), Exchange())
    let connection = try connection(8, carrying: [stream], in: pool)
    #expect(pool.becomeStream(stream))
    #expect(pool.lease(other, "b") == nil)
    pool.setLimit(2, of: connection)
    #expect(pool.lease(Exchange(), "a") == nil, "it takes no more")
    #expect(try pool.removeUnopened(#require(pool.takeOpening())) === other)
    #expect(pool.limit(of: ObjectIdentifier(connection)) == 2)
  }

  @Test func `a route with connections takes no room that others have beside their streams`() throws {
    let pool = PoolDriver(perRoute: 2, total: 2, streams: 8)
    let stream = Exchange()
    let connection = try connection(8, carrying: [stream], in: pool)
    #expect(pool.becomeStream(stream))
    _ = try self.connection(1, "b", carrying: [Exchange()], in: pool)
    #expect(pool.lease(Exchange(), "b") == nil)
    #expect(pool.takeOpening() == nil)
    #expect(pool.lease(Exchange(), "a") === connection)
  }

  @Test func `in a shortage of descriptors, connections with room beside their streams keep it`() throws {
    let pool = PoolDriver(perRoute: 2, total: 8, streams: 8)
    let stream = Exchange()
    let connection = try connection(8, carrying: [stream], in: pool)
    #expect(pool.becomeStream(stream))
    #expect(pool.lease(Exchange(), "b") == nil)
    #expect(try pool.removeUnopened(#require(pool.takeOpening()), shortage: .ofDescriptors) == nil)
    #expect(pool.takeOpening() == nil)
    #expect(pool.lease(Exchange(), "a") === connection)
    for _ in 0..<8 where pool.isShort { pool.probe() }
    #expect(pool.takeOpening() != nil)
  }

  @Test func `a connection whose exchange was cancelled is idle for as long as is then said`() throws {
    let pool = PoolDriver()
    let kept = exchanges(1)
    let connection = try connection(8, carrying: kept, until: Instant(nanoseconds: 10), in: pool)
    #expect(pool.cancel(kept[0]))
    pool.keepIdle(connection, until: Instant(nanoseconds: 30))
    #expect(pool.removeExpired(at: Instant(nanoseconds: 20)) == Instant(nanoseconds: 30))
    #expect(pool.counts == .init(idle: 1))
    #expect(pool.removeExpired(at: Instant(nanoseconds: 30)) == nil)
    #expect(pool.isEmpty)
  }

  // MARK: - A model

  private struct Carrier {
    let connection: PoolDriver.Connection
    var isOpen = false
    var limit = 1
    /// What its server has said last. The pool may take less, and that again when it no longer needs its room.
    var said = 1
    /// Whether each of its exchanges is a stream.
    var exchanges: [ObjectIdentifier: Bool] = [:]

    var isFull: Bool { exchanges.count >= limit }
    var takesPlace: Bool { exchanges.isEmpty || !isFull || exchanges.values.contains(false) }
  }

  /// What the pool was told, kept in the simplest way.
  private struct Model {
    var carriers: [ObjectIdentifier: Carrier] = [:]
    var exchanges: [ObjectIdentifier: (exchange: Exchange, route: String, isStream: Bool)] = [:]
    var waiting: Set<ObjectIdentifier> = []

    /// Gives an exchange to a connection, which must have room.
    mutating func give(_ exchange: Exchange, _ connection: PoolDriver.Connection) {
      let (id, carrier) = (ObjectIdentifier(exchange), ObjectIdentifier(connection))
      if let carrier = carriers[carrier] { #expect(carrier.exchanges.count < carrier.said) }
      #expect(carriers[carrier]?.isOpen == true)
      #expect(exchanges[id]?.route == connection.route)
      waiting.remove(id)
      carriers[carrier]?.exchanges[id] = exchanges[id]?.isStream
    }

    mutating func end(_ exchange: Exchange) {
      let id = ObjectIdentifier(exchange)
      exchanges[id] = nil
      waiting.remove(id)
      for carrier in carriers.keys { carriers[carrier]?.exchanges[id] = nil }
    }

    mutating func apply(_ effects: PoolDriver.Pool.Effects) {
      for connection in effects.opening { carriers[ObjectIdentifier(connection)] = Carrier(connection: connection) }
      for (exchange, connection) in effects.starting { give(exchange, connection) }
      for connection in effects.closing {
        #expect(carriers[ObjectIdentifier(connection)]?.exchanges.isEmpty == true)
        carriers[ObjectIdentifier(connection)] = nil
      }
    }
  }

  @Test(arguments: 0..<20)
  func `no connection carries more than its limit, and none has room while an exchange waits`(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let (perRoute, total) = (2, 3)
    let pool = PoolDriver(perRoute: perRoute, total: total, streams: 3)
    var model = Model()
    for _ in 0..<2_000 {
      pool.effects = PoolDriver.Pool.Effects()
      let carrier = model.carriers.values.randomElement(using: &generator)
      let carried = carrier?.exchanges.keys.randomElement(using: &generator).flatMap { model.exchanges[$0]?.exchange }
      switch Int.random(in: 0..<13, using: &generator) {
      case 0..<5:
        let (exchange, route) = (Exchange(), ["a", "b", "c"].randomElement(using: &generator) ?? "a")
        let isStream = pool.hasRoomForStream(on: route) && Int.random(in: 0..<4, using: &generator) == 0
        model.exchanges[ObjectIdentifier(exchange)] = (exchange, route, isStream)
        model.waiting.insert(ObjectIdentifier(exchange))
        if let connection = pool.lease(exchange, route, isStream: isStream) { model.give(exchange, connection) }
      case 5, 6:
        guard let carrier, !carrier.isOpen else { continue }
        let limit = Int.random(in: 1...4, using: &generator)
        model.carriers[ObjectIdentifier(carrier.connection)]?.isOpen = true
        model.carriers[ObjectIdentifier(carrier.connection)]?.said = limit
        pool.setLimit(limit, of: carrier.connection)
        _ = pool.makeAvailable(carrier.connection, until: end)
      case 7, 8:
        guard let carrier, let carried else { continue }
        #expect(pool.finish(carried, on: carrier.connection))
        model.end(carried)
        _ = pool.makeAvailable(carrier.connection, until: end)
      case 9:
        guard let exchange = model.exchanges.values.randomElement(using: &generator)?.exchange else { continue }
        model.end(exchange)
        #expect(pool.cancel(exchange, isSilent: Bool.random(using: &generator)))
      case 10:
        guard let carrier, carrier.isOpen else { continue }
        let limit = Int.random(in: 0...4, using: &generator)
        model.carriers[ObjectIdentifier(carrier.connection)]?.said = carrier.said == 0 ? 0 : limit
        pool.setLimit(limit, of: carrier.connection)
      case 11:
        guard let carrier else { continue }
        for orphan in pool.removeAll(carrier.connection) { model.end(orphan.exchange) }
        model.carriers[ObjectIdentifier(carrier.connection)] = nil
      default:
        guard let carried else { continue }
        let route = model.exchanges[ObjectIdentifier(carried)]?.route ?? ""
        guard pool.hasRoomForStream(on: route) else { continue }
        pool.becomeStream(carried)
        model.exchanges[ObjectIdentifier(carried)]?.isStream = true
        for id in model.carriers.keys where model.carriers[id]?.exchanges[ObjectIdentifier(carried)] != nil {
          model.carriers[id]?.exchanges[ObjectIdentifier(carried)] = true
        }
      }
      model.apply(pool.effects)
      // The pool may let a connection take no more, so that another one has its place.
      for id in model.carriers.keys { model.carriers[id]?.limit = pool.limit(of: id) ?? 0 }
      let placed = model.carriers.values.filter(\.takesPlace)
      #expect(placed.count <= total)
      #expect(pool.counts.waiting == model.waiting.count)
      #expect(pool.counts.connections == model.carriers.count)
      #expect(pool.counts.streams == model.carriers.count - placed.count)
      #expect(pool.counts.idle == model.carriers.values.count { $0.isOpen && $0.exchanges.isEmpty })
      #expect(!model.carriers.values.contains { $0.limit == 0 && $0.exchanges.isEmpty })
      for route in ["a", "b", "c"] {
        let own = placed.filter { $0.connection.route == route }
        let waiting = model.waiting.count { model.exchanges[$0]?.route == route }
        #expect(own.count <= perRoute)
        guard waiting > 0 else { continue }
        #expect(!own.contains { $0.isOpen && !$0.isFull })
        // Another one is being opened, or there is no room for it.
        let isOpening = own.contains { !$0.isOpen }
        // One with nothing but streams makes room for a route without connections, if that is the first that waits.
        let isFirst = own.isEmpty && model.waiting.allSatisfy { model.exchanges[$0]?.route == route }
        let isFull =
          placed.count == total
          && !placed.contains {
            $0.isOpen && ($0.exchanges.isEmpty || isFirst && !$0.exchanges.values.contains(false))
          }
        #expect(isOpening || own.count == perRoute || isFull)
      }
    }
    for exchange in model.exchanges.values.map(\.exchange) {
      pool.effects = PoolDriver.Pool.Effects()
      model.end(exchange)
      #expect(pool.cancel(exchange))
      model.apply(pool.effects)
    }
    for connection in model.carriers.values.map(\.connection) { _ = pool.removeAll(connection) }
    #expect(pool.isEmpty)
    #expect(pool.exchangesInFlight == 0)
  }
}
