import Foundation
public import Streams

/// Sends requests over sockets of its own: HTTP/1.1 with persistent connections, and one thread that waits for all of
/// them.
///
/// - Deadlines have a resolution of a millisecond, and fire a few milliseconds late at most.
/// - Callbacks come one at a time for each subscriber: on the task that awaits the stream's `value`, otherwise on one
///   of the transport's threads. One that blocks delays the others by 10 ms, and hundreds that block by about 50 ms.
///   Up to 2,048 callbacks of a process may block at once; no other ones come until one of these returns, not even
///   those of deadlines. What a slow observer has not taken stays with the server, so memory is bounded.
/// - With eight or more exchanges under way, responses are handed over in batches, so that a thread is not woken for
///   each. This delays a response by at most a quarter of the time that it took, and never by more than 1 ms.
/// - One thread reads from all connections and does the TLS work; a full handshake occupies it for about 2 ms, and
///   deadlines have their turn between handshakes.
/// - Of a host's addresses, each one that does not answer within 250 ms is passed over (RFC 8305), and tried last for
///   five minutes if another one did. Names whose look-up hangs do not hold up others.
/// - The connect deadline counts from the start, including the wait for a free connection; when a lost connection is
///   replaced, it counts anew from the loss.
/// - If a kept connection turns out to be dead, it is replaced silently, provided that the request cannot have been
///   processed. A request that may have been processed is sent again only if it `isReplayable`; one that is not gets a
///   connection that was used a moment ago, or a new one.
/// - If no byte of a response comes on a kept connection before a deadline, or before it breaks, the connections to
///   that server that have not been used since are given up.
/// - Whoever waits for a connection gets one in turn, whatever other servers' requests do. While the system lacks
///   descriptors, memory or ports, idle connections are closed for those who wait, and others wait for busy ones of
///   their server; a request fails for it only if there are neither.
/// - Ambiguous responses (RFC 9112, section 11.2) and heads over 64 KiB are refused.
/// - In a child of `fork`, requests fail with `forkedProcess` if any transport had run in the parent.
///
/// When nothing refers to the transport any more, it closes its connections and ends its thread.
public final class SocketTransport: HTTPTransport {
  private let configuration: Configuration
  let engine: SocketEngine
  private let defaults: Result<DefaultFields, RequestError>

  /// Makes a transport with connections of its own. Its thread starts with the first request.
  public convenience init(configuration: Configuration = Configuration()) {
    self.init(
      configuration: configuration, resolver: configuration.resolver.map { AddressResolver($0) } ?? AddressResolver())
  }

  init(
    configuration: Configuration, resolver: AddressResolver = AddressResolver(),
    makePoller: @escaping @Sendable () throws(SystemError) -> any Poller = SocketTransport.systemPoller
  ) {
    self.configuration = configuration
    defaults = Result { () throws(RequestError) in try DefaultFields(userAgent: configuration.userAgent) }
    engine = SocketEngine(configuration: configuration, resolver: resolver, makePoller: makePoller)
  }

  /// The best one that the system has.
  @Sendable static func systemPoller() throws(SystemError) -> any Poller {
    #if os(Linux)
      try EpollPoller()
    #else
      try PollPoller()
    #endif
  }

  deinit {
    // A subscriber that still waits for a response keeps this object alive.
    engine.shutDown(within: nil) {}
  }

  /// A cold stream of the response's parts; see ``HTTPTransport/send(_:)``.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.create { [self] observer in
      do throws(RequestError) {
        let (route, writer) = try route(of: request)
        let exchange = try SocketExchange(
          request, route: route, writer: writer, undecodable: configuration.undecodableBodies, observer: observer)
        engine.start(exchange)
        return Cancellation(transport: self, exchange: exchange)
      } catch {
        observer.onError(error.named(request.operationName))
        return Disposables.create()
      }
    }
  }

  /// The numbers of connections and waiting requests at this moment, in all and by origin: for gauges and for finding
  /// out what a process waits for. It looks at each origin that has connections, and holds up requests meanwhile.
  public func statistics() -> Statistics { engine.statistics() }

  /// Cancels an exchange. Until it is disposed, it keeps the transport alive for the subscriber.
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
  /// Requests that are still under way after `limit`, or when the task that awaits this is cancelled, fail with
  /// `connectionLost`. Without a limit, this may wait for ever for a request that has no deadline.
  public func shutdown(within limit: Duration? = nil) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in engine.shutDown(within: limit) { continuation.resume() } }
    } onCancel: {
      engine.shutDown(within: .zero) {}
    }
  }

  /// The fields of requests that have none with these names.
  private struct DefaultFields {
    let whole: [(name: String, value: String)]
    /// For range requests: a part of a coded response could not be decoded, and without this field the server may
    /// choose any coding (RFC 9110, section 12.5.3).
    let part: [(name: String, value: String)]

    init(userAgent: String?) throws(RequestError) {
      var common: [(name: String, value: String)] = []
      if let userAgent {
        let field = try HTTPField(name: "User-Agent", value: userAgent)
        common = [(field.name, field.value)]
      }
      whole = [("Accept-Encoding", ContentCoding.accepted)] + common
      part = [("Accept-Encoding", "identity")] + common
    }
  }

  private func route(of request: HTTPRequest) throws(RequestError) -> (Route, RequestWriter) {
    let target = request.target
    var route = Route(
      host: target.host, port: target.port, isSecure: target.isSecure, unixPath: configuration.unixSocketPath)
    let defaults = try defaults.get()
    var writer = RequestWriter(defaults: request.headers.contains("Range") ? defaults.part : defaults.whole)
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
