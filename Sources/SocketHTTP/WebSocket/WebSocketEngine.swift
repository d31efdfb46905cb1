import HTTPClientCore
import Streams
import SystemBase

/// WebSocket connections have no part in the pool: each is opened for one subscriber, and none is used again.
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
