import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StreamsTesting
import Testing

/// `GET` requests through a cache to a scripted transport. The clock begins at Sun, 06 Nov 1994 08:49:37 GMT.
struct CacheHarness {
  static let start = 784_111_777.0

  let harness: MiddlewareHarness
  var transport: ScriptedTransport { harness.transport }
  var scheduler: TestScheduler { harness.scheduler }

  init(
    _ storage: any CacheStorage = MemoryCacheStorage(), mode: CacheMode = .private,
    owners: RequestOwners = .credentials(),
    bodyLimit: Int = 1 << 20, inside: (TestScheduler) -> [any HTTPMiddleware] = { _ in [] },
    mayStore: @escaping @Sendable (HTTPResponse) -> Bool = { _ in true }
  ) {
    harness = MiddlewareHarness { scheduler in
      [
        CacheMiddleware(
          storage, mode: mode, owners: owners, bodyLimit: bodyLimit, mayStore: mayStore,
          now: { Date(timeIntervalSince1970: Self.start + scheduler.now / .seconds(1)) }, elapsed: { scheduler.now })
      ] + inside(scheduler)
    }
  }

  func pass(_ seconds: Double) { scheduler.advance(by: .seconds(seconds)) }

  func get(_ fields: [String] = [], _ url: String = "https://a.example/x?q=1") throws -> HTTPResponse {
    try harness.finish(Self.request(fields, url)).get()
  }

  /// The values that the server got of a field, one for each request.
  func sent(_ name: String) -> [String?] { transport.requests.map { $0.headers[name] } }

  static func request(
    _ fields: [String] = [], _ url: String = "https://a.example/x?q=1", method: HTTPMethod = .get
  ) throws -> HTTPRequest {
    try HTTPRequest(method: method, url: #require(URL(string: url)), headers: headers(fields))
  }

  /// Fields from lines such as `Cache-Control: max-age=60`.
  static func headers(_ lines: [String]) throws -> HTTPHeaders {
    var headers = HTTPHeaders()
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      try headers.append(#require(parts.first), parts.count == 2 ? parts[1] : "")
    }
    return headers
  }

  static func response(_ fields: [String] = [], status: Int = 200, _ body: String = "first") throws -> ScriptedResponse
  {
    try .response(status: status, headers: headers(fields), body: Data(body.utf8))
  }
}

extension HTTPResponse {
  var text: String { String(decoding: body, as: UTF8.self) }
}

/// A server with one response, for requests that are sent through a cache by hand.
struct OneResponse: HTTPTransport {
  let parts: Observable<HTTPResponsePart>

  init(_ parts: Observable<HTTPResponsePart>) { self.parts = parts }

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { parts }
}
