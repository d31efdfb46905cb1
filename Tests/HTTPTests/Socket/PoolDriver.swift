@testable import HTTP

/// A pool, and what it has said is to be done.
final class PoolDriver {
  final class Connection: Sendable {
    let route: String
    init(route: String) { self.route = route }
  }

  final class Exchange: Sendable {}

  typealias Pool = HTTP.ConnectionPool<String, Connection, Exchange>

  private var pool: Pool
  var effects = Pool.Effects()

  init(perRoute: Int = 2, total: Int = 3) {
    pool = Pool(limits: .init(perRoute: perRoute, total: total)) { Connection(route: $0) }
  }

  var counts: (opening: Int, idle: Int, busy: Int, waiting: Int, exchanges: Int) { pool.counts }
  var isEmpty: Bool { pool.isEmpty }
  var exchangesUnderWay: Int { pool.exchangesUnderWay }

  func lease(_ exchange: Exchange, _ route: String) -> Connection? { pool.lease(exchange, route, &effects) }
  func finish(_ exchange: Exchange, on connection: Connection) -> Bool { pool.finish(exchange, on: connection) }
  func cancel(_ exchange: Exchange) -> Bool { pool.cancel(exchange, &effects) }
  func remove(_ connection: Connection) -> Pool.Orphan? { pool.remove(connection, &effects) }
  func removeUnopened(_ connection: Connection, isShort: Bool = false) -> Exchange? {
    pool.removeUnopened(connection, isShort: isShort, &effects)
  }
  func removeExpired(at now: Instant) -> Instant? { pool.removeExpired(at: now, &effects) }
  func makeAvailable(_ connection: Connection, until: Instant) -> Exchange? {
    pool.makeAvailable(connection, until: until, &effects)
  }
}
