public import Streams

/// Opens WebSocket connections (RFC 6455).
///
/// Write one to script connections in tests, or to bring another WebSocket library.
public protocol WebSocketTransport: Sendable {
  /// Returns a cold stream that opens a connection for each subscriber: it emits `opened`, then what the server sends,
  /// then `closed`, and completes.
  ///
  /// - It calls ``WebSocketRequest/checkHandshake()`` first.
  /// - It fails with a ``RequestError`` if there is no connection, if the server refuses the upgrade, if the connection
  ///   breaks without a close, or if the server violates the protocol; see ``WebSocketFailure``.
  /// - It calls back on a queue of its own, one call at a time, and keeps no more for a slow observer than
  ///   ``WebSocketLimits/undelivered``; from there on it does not read. Pings that it has read are answered whatever the
  ///   observer does. After `observe(on:)`, which queues without a bound, a slow observer does not stop the reading.
  /// - Disposing the subscription closes the connection, with code 1000 if it was open and the socket has room for it,
  ///   and waits for nothing. To wait for the server's close, call ``WebSocketConnection/close(code:reason:)`` instead,
  ///   and dispose nothing until `closed` has come.
  func connect(_ request: WebSocketRequest) -> Observable<WebSocketEvent>
}
