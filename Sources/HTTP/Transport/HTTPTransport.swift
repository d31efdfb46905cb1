public import Streams

/// Moves one request to a server and its answer back.
///
/// Write a transport to move bytes in another way: over another HTTP library, a Unix socket, or from a fixture. To see
/// or change requests on their way, whatever moves them, write an ``HTTPMiddleware``.
public protocol HTTPTransport: Sendable {
  /// A cold stream that sends the request once for each subscriber, and gives one head and then the body's pieces.
  ///
  /// - It calls ``HTTPRequest/checkFraming()`` first: what frames the message is the transport's to set.
  /// - It completes when the whole answer has arrived, whatever its status, and follows no redirect.
  /// - It fails with a ``RequestError``, also where a deadline of `request.timeouts` passed.
  /// - It calls back on a queue of its own; the next piece is not read before `onNext` has returned.
  /// - Disposing the subscription stops the exchange.
  /// - It calls `request.onConnected` when the request has its connection, where it knows that, and `request.onProgress` as
  ///   bytes go and come, one call at a time; neither on a thread that others wait for.
  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart>
}
