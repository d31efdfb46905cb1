import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@Suite struct MiddlewareTests {
  /// Notes its name on the way out and on the way back.
  private struct Note: HTTPMiddleware {
    let name: String
    let log: Locked<[String]>

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      log.withLock { $0.append("\(name) out") }
      return next(request).do(onCompleted: { log.withLock { $0.append("\(name) back") } })
    }
  }

  /// Answers a request itself, or asks twice.
  private struct Custom: HTTPMiddleware {
    let answer:
      @Sendable (HTTPRequest, @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>)
        -> Observable<HTTPResponsePart>

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      answer(request, next)
    }
  }

  @Test func `the first middleware is outermost`() async throws {
    let log = Locked<[String]>([])
    let transport = ScriptedTransport()
    transport.expect(.any, .json("{}"))
    let notes = ["a", "b", "c"].map { Note(name: $0, log: log) }
    _ = try await transport.send(try request(), through: notes).elements
    #expect(log.withLock { $0 } == ["a out", "b out", "c out", "c back", "b back", "a back"])
  }

  @Test func `a request without middlewares reaches the transport alone`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .json("{}"))
    #expect(try await transport.send(try request(), through: []).collect(upTo: 9).value.body == Data("{}".utf8))
  }

  @Test func `a middleware may respond without sending`() async throws {
    let transport = ScriptedTransport()
    let custom = Custom { _, _ in .from([.head(HTTPResponseHead(status: 299))]) }
    #expect(try await transport.send(try request(), through: [custom]).collect(upTo: 0).value.head.status == 299)
    #expect(transport.requests.isEmpty)
  }

  @Test func `a middleware may ask again with another request`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .failure(RequestError(.connectionLost, "Lost.")))
    transport.expect(.any, .json("{}"))
    let custom = Custom { request, next in
      var again = request
      again.body = Data("again".utf8)
      return next(request).catch { [again] _ in next(again) }
    }
    _ = try await transport.send(try request(), through: [custom]).collect(upTo: 9).value
    #expect(transport.requests.map(\.body) == [nil, Data("again".utf8)])
  }

  @Test func `default headers are added where their name is missing`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json("{}"))
    let defaults = DefaultHeadersMiddleware(["X-A": "default", "X-B": "default"])
    _ = try await transport.send(try request(headers: ["x-a": "mine"]), through: [defaults]).collect(upTo: 9).value
    let sent = try #require(transport.requests.first).headers
    #expect(sent.map(\.name) == ["x-a", "X-B"])
    #expect(sent["X-A"] == "mine")
    #expect(sent["X-B"] == "default")
  }

  @Test func `disposing reaches the transport through the middlewares`() throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .never)
    let log = Locked<[String]>([])
    let subscription = transport.send(try request(), through: [Note(name: "a", log: log)]).subscribe()
    subscription.dispose()
    #expect(transport.cancellations == 1)
  }

  @Test func `a scripted response that is no longer awaited leaves nothing behind`() throws {
    let harness = MiddlewareHarness()
    harness.transport.always(.response().after(.seconds(60)))
    try harness.start(request()).dispose()
    #expect(harness.scheduler.pendingCount == 0)
    #expect(harness.transport.cancellations == 1)
  }
}
