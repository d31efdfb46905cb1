import Streams
import SystemBase

@testable import HTTPClientCore
@testable import SocketHTTP

/// A pool, and what it has said is to be done.
final class PoolDriver {
  final class Connection: Sendable {
    let route: String
    init(route: String) { self.route = route }
  }

  final class Exchange: Sendable {}

  typealias Pool = SocketHTTP.ConnectionPool<String, Connection, Exchange>

  private var pool: Pool
  var effects = Pool.Effects()

  init(perRoute: Int = 2, total: Int = 3, streams: Int = 2, expectedLimit: Int = 1) {
    let limits = Pool.Limits(perRoute: perRoute, total: total, streamsPerRoute: streams)
    pool = Pool(limits: limits, expectedLimit: { _ in expectedLimit }) { Connection(route: $0) }
  }

  var counts: SocketTransport.Statistics.Counts {
    var counts = SocketTransport.Statistics.Counts()
    pool.forEachRoute { counts.add($1) }
    return counts
  }
  var isEmpty: Bool { pool.isEmpty }
  func group(_ route: String) -> Pool.Group? { pool.groups[route] }
  var exchangesInFlight: Int { pool.exchangesInFlight }

  /// How many connections there may be at the moment.
  var room: Int { pool.room.size }
  var isShort: Bool { pool.isShort }
  /// How often any element of its heaps has been put into a place.
  var moves: Int { pool.groupsInNeed.moves + pool.idleMembers.moves }

  func lease(
    _ exchange: Exchange, _ route: String, usedSince oldest: Instant = Instant(nanoseconds: 0), isStream: Bool = false
  ) -> Connection? { pool.lease(exchange, route, usedSince: oldest, isStream: isStream, &effects) }
  func hasRoomForStream(on route: String) -> Bool { pool.hasRoomForStream(on: route) }
  @discardableResult
  func becomeStream(_ exchange: Exchange) -> Bool { pool.becomeStream(exchange, &effects) }
  func finish(_ exchange: Exchange, on connection: Connection) -> Bool { pool.finish(exchange, on: connection) }
  func cancel(_ exchange: Exchange, isSilent: Bool = false) -> Bool {
    pool.cancel(exchange, isSilent: isSilent, &effects)
  }
  func postpone(_ exchange: Exchange) { pool.postpone(exchange) }
  func resume(_ exchange: Exchange) -> Bool { pool.resume(exchange) }
  func remove(_ connection: Connection) -> Pool.Orphan? { removeAll(connection).first }
  func removeAll(_ connection: Connection) -> [Pool.Orphan] { pool.remove(connection, &effects) }
  func removeUnopened(_ connection: Connection, shortage: SystemError.Shortage? = nil) -> Exchange? {
    failAll(opening: connection, shortage: shortage).first
  }
  func failAll(opening connection: Connection, shortage: SystemError.Shortage? = nil) -> [Exchange] {
    pool.removeUnopened(connection, shortage: shortage, &effects)
  }
  /// The connection that was to be opened last.
  func takeOpening() -> Connection? { effects.opening.popLast() }
  func probe() { pool.probe(&effects) }
  func removeExpired(at now: Instant) -> Instant? { pool.removeExpired(at: now, &effects) }
  /// Returns the exchange that gets the connection at once.
  func makeAvailable(
    _ connection: Connection, at now: Instant = Instant(nanoseconds: 1), until: Instant
  ) -> Exchange? {
    let before = effects.starting.count
    pool.makeAvailable(connection, at: now, until: until, &effects)
    return effects.starting.dropFirst(before).first?.exchange
  }
  func keepIdle(_ connection: Connection, until end: Instant) { pool.keepIdle(connection, until: end) }
  func limit(of connection: ObjectIdentifier) -> Int? { pool.members[connection]?.limit }
  func setLimit(_ limit: Int, of connection: Connection) { pool.setLimit(limit, of: connection, &effects) }
}
