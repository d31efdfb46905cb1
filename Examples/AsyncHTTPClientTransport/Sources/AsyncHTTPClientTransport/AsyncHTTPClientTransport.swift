import AsyncHTTPClient
import Foundation
import HTTP
import NIOCore
import NIOHTTP1
import Streams

/// Sends requests through async-http-client, for whoever has it in the house already, or prefers SwiftNIO's TLS.
///
/// Its redirects are off, its decompression is not used, and its deadlines are not either: those of each request are kept
/// here. Calls come on a queue of the request's own.
public final class AsyncHTTPClientTransport: HTTPTransport {
  private let client: HTTPClient

  /// Makes a transport with connections of its own, on the event loops that the process shares.
  public init() {
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.decompression = .disabled
    configuration.httpVersion = .http1Only
    // Longer than any deadline of a request's own.
    configuration.timeout = .init(connect: .hours(24), read: nil)
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    client.shutdown { _ in }
  }

  /// A cold stream of the answer's parts.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.create { [self] observer in
      do {
        let exchange = Exchange(request, observer: observer)
        let task = client.execute(request: try HTTPClient.Request(request), delegate: exchange)
        exchange.watch { task.cancel() }
        return Disposables.create { [self] in
          withExtendedLifetime(self) {
            exchange.stop()
            task.cancel()
          }
        }
      } catch {
        observer.onError(RequestError(error).named(request.operationName))
        return Disposables.create()
      }
    }
  }
}

extension HTTPClient.Request {
  init(_ request: HTTPRequest) throws {
    for name in ["Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer"]
    where request.headers.contains(name) {
      throw RequestError(.invalidRequest, "The header '\(name)' is the transport's to set: take it out of the request.")
    }
    var headers = NIOHTTP1.HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
    try self.init(
      url: request.url, method: HTTPMethod(rawValue: request.method.rawValue), headers: headers,
      body: request.body.map { .data($0) })
  }
}

extension RequestError {
  /// What async-http-client's errors mean.
  init(_ error: any Error) {
    if let error = error as? RequestError {
      self = error
      return
    }
    let kind: Kind =
      switch error {
      case HTTPClientError.remoteConnectionClosed: .connectionLost
      case HTTPClientError.connectTimeout, HTTPClientError.readTimeout, HTTPClientError.deadlineExceeded: .timedOut
      case HTTPClientError.cancelled: .cancelled
      case HTTPClientError.invalidURL, HTTPClientError.emptyHost, HTTPClientError.unsupportedScheme: .invalidRequest
      case is NIOConnectionError: .cannotConnect
      case is HTTPParserError: .badResponse
      case is IOError, is ChannelError: .connectionLost
      default: "\(type(of: error))".contains("SSL") ? .insecure : .unknown
      }
    self.init(kind, "\(error)", cause: error)
  }
}
