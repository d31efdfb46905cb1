import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// A WebSocket gets a stream of a connection that is there already, if its server takes one (RFC 8441), or else a connection
/// of its own, which has no part in the pool: none is used again.
extension SocketEngine {
  /// Opens a connection. Must not be called on the loop's thread: if there is no loop, the session fails, and calls its
  /// observer, at once.
  func start(_ session: WebSocketSession) throws(RequestError) {
    // Before any lock, which a thread that no longer exists may have held.
    if ForkedProcess.isChild { throw .afterFork }
    let result: Result<EventLoop, RequestError> = state.withLock { state in
      guard !state.isShutDown else { return .failure(.afterShutdown) }
      return runningLoop(&state).map { loop in
        state.webSockets[ObjectIdentifier(session)] = session
        return loop
      }
    }
    let loop = try result.get()
    loop.submit { [self] in session.begin(by: self, on: loop) }
  }

  /// Begins an exchange with a channel on a connection that takes it now; returns false if there is none. Which protocols a
  /// server takes is known once its settings have come.
  func startAtOnce(_ exchange: SocketExchange) -> Bool {
    var effects = Pool.Effects()
    let leased = state.withLock { state -> (connection: Connection, loop: EventLoop)? in
      guard let loop = state.loop, !state.isShutDown, !state.http1Routes.contains(exchange.route) else { return nil }
      let connection = state.pool.leaseAtOnce(
        exchange, exchange.route, where: { $0.allowsConnectProtocol.load(ordering: .relaxed) }, &effects)
      return connection.map { ($0, loop) }
    }
    guard let leased else { return false }
    perform(effects, on: leased.loop)
    send(exchange, on: leased.connection, leased.loop)
    return true
  }

  /// The subscription of a session was disposed.
  func cancel(_ session: WebSocketSession) {
    if ForkedProcess.isChild { return }
    state.withLock { $0.loop }?.submit { session.cancel() }
  }

  /// The sessions that have not ended.
  var webSockets: [WebSocketSession] { state.withLock { Array($0.webSockets.values) } }

  /// A session has ended. Called on the loop's thread.
  func didEnd(_ session: WebSocketSession) {
    state.withLock { _ = $0.webSockets.removeValue(forKey: ObjectIdentifier(session)) }
    didClose()
  }
}
