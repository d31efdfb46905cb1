import Streams
import Testing

/// What many exchanges on one connection cost the pool.
@Suite(.serialized) struct ConnectionPoolCostTests {
  enum End: CaseIterable {
    case removal, completions, cancellations
  }

  @Test(arguments: End.allCases) func `many exchanges on one connection end in linear time`(end: End) throws {
    try expectLinearTime(1_000) { count in
      let pool = PoolDriver(perRoute: 1, total: 1, streams: count)
      let exchanges = (0..<count).map { _ in PoolDriver.Exchange() }
      for (index, exchange) in exchanges.enumerated() {
        #expect(pool.lease(exchange, "a", isStream: index % 2 == 0) == nil)
      }
      let connection = try #require(pool.takeOpening())
      pool.setLimit(count, of: connection)
      #expect(pool.makeAvailable(connection, until: Instant(nanoseconds: .max)) === exchanges[0])
      return {
        switch end {
        case .removal: #expect(pool.removeAll(connection).count == count)
        case .completions: for exchange in exchanges { _ = pool.finish(exchange, on: connection) }
        case .cancellations: for exchange in exchanges { _ = pool.cancel(exchange) }
        }
        #expect(pool.exchangesInFlight == 0)
      }
    }
  }
}
