import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What many exchanges on one connection cost, most of it under a lock that others wait for.
@Suite(.serialized) struct SharedConnectionCostTests {
  private let route = Route(host: "h", port: 80, isSecure: false)

  private func exchanges(_ count: Int) throws -> [SocketExchange] {
    let request = try HTTPRequest(
      method: .get, url: url("http://h/"), timeouts: HTTPTimeouts(idle: nil, total: .milliseconds(1)))
    return try (0..<count).map { _ in try SocketExchange(request, route: route, observer: AnyObserver { _ in }) }
  }

  /// A connection of an engine that has no loop, which carries these exchanges.
  private func connection(_ engine: SocketEngine, carrying exchanges: [SocketExchange]) throws -> Connection {
    var effects = SocketEngine.Pool.Effects()
    return try engine.state.withLock { state in
      for exchange in exchanges {
        _ = state.pool.lease(exchange, route, usedSince: Instant(nanoseconds: 0), &effects)
      }
      let connection = try #require(effects.opening.first)
      state.pool.setLimit(exchanges.count, of: connection, &effects)
      state.pool.makeAvailable(connection, at: .now, until: .now + .seconds(60), &effects)
      return connection
    }
  }

  @Test func `a connection that breaks loses what it carries in linear time`() throws {
    try expectLinearTime(500) { count in
      let transport = SocketTransport.lines(limit: count)
      let exchanges = try exchanges(count)
      let connection = try connection(transport.engine, carrying: exchanges)
      let losses = exchanges.map { ExchangeLoss(exchange: $0, reached: .maybe) }
      return {
        transport.engine.didLose(connection, RequestError(.connectionLost, "It was reset."), losses)
        #expect(transport.engine.state.withLock { $0.pool.exchangesInFlight } == 0)
      }
    }
  }

  @Test func `what a silent connection carries expires in linear time`() throws {
    try expectLinearTime(500) { count in
      let transport = SocketTransport.lines(limit: count)
      let exchanges = try exchanges(count)
      _ = try connection(transport.engine, carrying: exchanges)
      for exchange in exchanges { exchange.didConnect(isReused: true, version: "2", opening: nil) }
      transport.engine.state.withLock { $0.nextScan = .now }
      usleep(2_000)
      return {
        transport.engine.scan()
        #expect(transport.engine.state.withLock { $0.pool.exchangesInFlight } == 0)
      }
    }
  }

  @Test func `exchanges of a connection in HTTP/2 are cancelled in linear time`() throws {
    try expectLinearTime(500) { count in
      let connection = HTTP2Connection()
      try HTTP2ServerFrame.settings().withUnsafeBytes { try connection.receive($0) }
      let exchanges = try exchanges(count)
      for exchange in exchanges {
        connection.begin(exchange, whenReady: nil)
        while case .taken(let count)? = connection.withNext({ .taken($0.count + $1.count) }) {
          connection.didWrite(count)
        }
      }
      return {
        // As the engine does it: at once, and on the loop.
        for exchange in exchanges { for _ in 1...2 { connection.cancel(exchange) } }
        #expect(connection.load == 0)
      }
    }
  }
}
