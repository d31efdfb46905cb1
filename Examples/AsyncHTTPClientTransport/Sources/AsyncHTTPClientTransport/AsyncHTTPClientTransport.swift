public import AsyncHTTPClient
public import HTTPClientCore
import NIOCore
public import Streams

/// Sends requests through async-http-client, for programs that already depend on it, or prefer SwiftNIO's TLS.
///
/// Its redirects, decompression and deadlines are turned off: this type applies the deadlines of each request, and
/// rejects content codings. Callbacks come on a queue of the request's own; the next piece is read once the last one
/// has been taken.
///
/// A request that was not written, since its connection was dead, is sent again, once; one that may have been
/// processed, only if `isReplayable` is true. The client does not report whether a connection was reused, so
/// `onConnected` is not called.
public final class AsyncHTTPClientTransport: HTTPTransport {
  private let client: HTTPClient

  /// Makes a transport with its own connections, on the event loops that the process shares.
  ///
  /// The configuration sets, among others, which servers `https` trusts and which proxy to use. Redirects,
  /// decompression, timeouts and the handlers of a connection are set by this type.
  public init(configuration: HTTPClient.Configuration = .init()) {
    var configuration = configuration
    configuration.redirectConfiguration = .disallow
    configuration.decompression = .disabled
    configuration.httpVersion = .http1Only
    // Longer than any deadline of a request.
    configuration.timeout = .init(connect: .hours(24), read: nil)
    // A refused connection is an error that the caller can handle.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      max(64, configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit)
    configuration.http1_1ConnectionDebugInitializer = ClosedConnectionHandler.add
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // Subscriptions that still wait for a response keep this object alive.
    client.shutdown { _ in }
  }

  /// A cold stream of the response's parts; see `HTTPTransport`.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.create { [self] observer in
      do {
        let exchange = Exchange(request, as: try HTTPClient.Request(request), on: client, observer: observer)
        exchange.begin()
        return Disposables.create { [self] in withExtendedLifetime(self) { exchange.stop() } }
      } catch {
        observer.onError(RequestError(asyncHTTPClient: error).named(request.operationName))
        return Disposables.create()
      }
    }
  }
}
