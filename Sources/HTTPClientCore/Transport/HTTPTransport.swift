public import Streams

/// Sends a request to a server and returns its response.
///
/// Write a transport to move bytes in another way: over another HTTP library, a Unix socket, or from a fixture. To see
/// or change requests whatever the transport, write an ``HTTPMiddleware``.
public protocol HTTPTransport: Sendable {
  /// Returns a cold stream that sends the request once for each subscriber, and emits one head and then the pieces of
  /// the body.
  ///
  /// - It calls ``HTTPRequest/checkFraming(sendsUploads:)`` first, for each subscriber: only the transport may set the headers
  ///   that frame the message, and a deadline has to know that the request is sent.
  /// - It completes when the whole response has arrived, whatever its status. It does not follow redirects.
  /// - It fails with a ``RequestError``, including when a deadline of `request.timeouts` passes.
  /// - It calls back on a queue of its own, and does not read the next piece before `onNext` has returned. After
  ///   `observe(on:)`, which queues without a bound, `onNext` returns at once, so a slow observer does not stop the
  ///   reading.
  /// - Disposing the subscription stops the exchange.
  /// - If it knows when the request has its connection, it calls `request.onConnected` then. It calls
  ///   `request.onProgress` as bytes are sent and received, one call at a time. Neither is called on a thread that
  ///   others wait for.
  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart>
}

/// A transport that opens the gate of each request before its first byte, see ``SendGate``.
package protocol SendTracking: HTTPTransport {}
