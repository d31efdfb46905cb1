public import AsyncHTTPClient
public import HTTP
import NIOCore
public import Streams

/// Sends requests through async-http-client, for whoever depends on it already, or prefers SwiftNIO's TLS.
///
/// Its redirects, its decompression and its deadlines are off: those of each request are kept here, and content codings
/// are refused. Calls come on a queue of the request's own; the next piece is read when the last one is taken.
///
/// A request that found its connection dead before it was written is sent anew, once; one that may have been processed
/// only where `isReplayable` says so. The client does not tell whether a connection was reused, so that `onConnected` is
/// not called.
public final class AsyncHTTPClientTransport: HTTPTransport {
  private let client: HTTPClient

  /// Makes a transport with connections of its own, on the event loops that the process shares.
  ///
  /// A configuration says whom `https` trusts and which proxy to use, among others; redirects, decompression, timeouts
  /// and what goes into a connection are this type's to set.
  public init(configuration: HTTPClient.Configuration = .init()) {
    var configuration = configuration
    configuration.redirectConfiguration = .disallow
    configuration.decompression = .disabled
    configuration.httpVersion = .http1Only
    // Longer than any deadline of a request's own.
    configuration.timeout = .init(connect: .hours(24), read: nil)
    // A refused connection is an error that a caller knows how to take.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      max(64, configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit)
    configuration.http1_1ConnectionDebugInitializer = ClosedConnectionHandler.add
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // Whoever still waits for an answer keeps this object alive.
    client.shutdown { _ in }
  }

  /// A cold stream of the answer's parts; see `HTTPTransport`.
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
