import Foundation
public import Streams

/// Sends requests over sockets of its own: HTTP/1.1 with kept connections, on one thread that waits for all of them.
///
/// - Deadlines are kept to the millisecond, some milliseconds late at most.
/// - Callbacks come one at a time for each subscriber: on the task that awaits the stream's `value`, otherwise on one
///   of the transport's threads. One that blocks delays the others by 10 ms, and hundreds that block by about 50 ms.
///   What a slow observer has not taken stays with the server, so memory is bounded.
/// - With eight or more exchanges under way, responses are handed over in batches, so that a thread is not woken for
///   each. This delays a response by at most a quarter of the time that it took, and never by more than 1 ms.
/// - One thread reads from all connections and does the TLS work; a full handshake occupies it for about 2 ms.
/// - The connect deadline counts from the start, including the wait for a free connection; when a lost connection is
///   replaced, it counts anew from the loss.
/// - A kept connection that turns out to be dead is replaced without a word where the request cannot have been
///   processed. One that may have been is sent again only where `isReplayable` says so.
/// - Answers that could be read in two ways are refused (RFC 9112, section 11.2), and heads over 64 KiB.
///
/// When nothing refers to the transport any more, it closes its connections and ends its thread.
public final class SocketTransport: HTTPTransport {
  private let configuration: Configuration
  private let engine: SocketEngine

  /// Makes a transport with connections of its own, and a thread from the first request on.
  public convenience init(configuration: Configuration = Configuration()) {
    self.init(configuration: configuration) { () throws(SystemError) -> any Poller in
      #if os(Linux)
        try EpollPoller()
      #else
        try PollPoller()
      #endif
    }
  }

  init(
    configuration: Configuration, makePoller: @escaping @Sendable () throws(SystemError) -> any Poller
  ) {
    self.configuration = configuration
    engine = SocketEngine(
      limits: .init(
        perRoute: max(configuration.maximumConnectionsPerOrigin, 1), total: max(configuration.maximumConnections, 1)),
      idleTime: configuration.idleTime, tls: configuration.tls, makePoller: makePoller)
  }

  deinit {
    // Whoever still waits for an answer keeps this object alive.
    engine.shutDown(within: nil) {}
  }

  /// A cold stream of the answer's parts; see ``HTTPTransport/send(_:)``.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.create { [self] observer in
      do throws(RequestError) {
        let (route, writer) = try route(of: request)
        let exchange = try SocketExchange(request, route: route, writer: writer, observer: observer)
        engine.start(exchange)
        return Cancellation(transport: self, exchange: exchange)
      } catch {
        observer.onError(error.named(request.operationName))
        return Disposables.create()
      }
    }
  }

  /// Ends an exchange early. Whoever waits for an answer keeps the transport alive by it.
  private struct Cancellation: Disposable {
    let transport: SocketTransport
    let exchange: SocketExchange

    func dispose() {
      if exchange.stop() { transport.engine.cancel(exchange) }
    }
  }

  /// Refuses new requests with `cannotConnect`, lets those under way finish, closes every connection, stops the loop,
  /// and returns once all observers have been told. So an observer must not wait for this to return.
  ///
  /// What is still under way after `limit`, or when the task is cancelled that awaits this, fails with `connectionLost`.
  /// Without a limit, this may wait for ever for a request that has no deadline.
  public func shutdown(within limit: Duration? = nil) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in engine.shutDown(within: limit) { continuation.resume() } }
    } onCancel: {
      engine.shutDown(within: .zero) {}
    }
  }

  private static let defaults: [(name: String, value: String)] = [("Accept-Encoding", ContentCoding.accepted)]
  /// For a part: that of a coded answer could not be decoded, and where nothing is said any coding will do (RFC 9110,
  /// section 12.5.3).
  private static let defaultsForPart: [(name: String, value: String)] = [("Accept-Encoding", "identity")]

  private func route(of request: HTTPRequest) throws(RequestError) -> (Route, RequestWriter) {
    let target = request.target
    var route = Route(
      host: target.host, port: target.port, isSecure: target.isSecure, unixPath: configuration.unixSocketPath)
    var writer = RequestWriter(
      defaults: request.headers.contains("Range") ? Self.defaultsForPart : Self.defaults)
    guard route.unixPath == nil, let proxy = try configuration.proxy.server(for: target) else {
      return (route, writer)
    }
    if target.isSecure {
      route.tunnel = proxy
    } else {
      route = Route(host: proxy.host, port: proxy.port, isSecure: false)
      writer.form = .absolute
      writer.proxyAuthorization = proxy.authorization
    }
    return (route, writer)
  }
}
