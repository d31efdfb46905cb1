import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import SystemBase
import Testing

@Suite struct LoggingMiddlewareTests {
  private let lines = Locked<[String]>([])
  private let transport = ScriptedTransport()

  /// What was logged, with each time as `N ms`.
  private var log: [String] {
    lines.withLock { $0 }.map { $0.replacing(#/\d+ ms/#, with: "N ms") }
  }

  private func send(
    _ request: HTTPRequest, detail: LoggingMiddleware.Detail = .lines
  ) -> Observable<HTTPResponse> {
    let logging = LoggingMiddleware(detail: detail) { [lines] line in lines.withLock { $0.append(line) } }
    return transport.send(request, through: [logging]).collect(upTo: 1 << 20)
  }

  @Test func `an exchange is logged in two lines`() async throws {
    transport.expect(.any, .json("{\"a\": 1}", status: 201).inPieces(of: 3))
    _ = try await send(try request(body: Data("12345".utf8), operationName: "getUser")).value
    #expect(log == ["#1 getUser -> POST http://127.0.0.1/graphql, 5 bytes", "#1 getUser <- 201, 8 bytes, N ms"])
  }

  @Test func `an operation without a name is logged without one`() async throws {
    transport.expect(.any, .response(status: 204))
    _ = try await send(try request()).value
    #expect(log == ["#1 -> POST http://127.0.0.1/graphql, 0 bytes", "#1 <- 204, 0 bytes, N ms"])
  }

  @Test func `lines of concurrent exchanges are distinguished by a number`() throws {
    transport.expect(.any, .never)
    transport.expect(.any, .never)
    let response = send(try request(operationName: "getUser"))
    let subscriptions = [response.subscribe(), response.subscribe()]
    for subscription in subscriptions.reversed() { subscription.dispose() }
    #expect(log.map { $0.prefix(13) } == ["#1 getUser ->", "#2 getUser ->", "#2 getUser <-", "#1 getUser <-"])
  }

  @Test func `a failure is logged with its error`() async throws {
    transport.expect(.any, .json("{}").thenFailing(RequestError(.connectionLost, "Lost.")))
    _ = await send(try request(operationName: "getUser")).failure
    #expect(log.last == "#1 getUser <- failed after N ms: connection lost: Lost.")
    #expect(log.count == 2)
  }

  @Test func `an exchange that is cancelled is logged once`() throws {
    transport.expect(.any, .never)
    let subscription = send(try request(operationName: "getUser")).subscribe()
    subscription.dispose()
    #expect(log == ["#1 getUser -> POST http://127.0.0.1/graphql, 0 bytes", "#1 getUser <- stopped after N ms"])
  }

  @Test func `an exchange is logged only once it is subscribed to`() throws {
    _ = send(try request())
    #expect(log.isEmpty)
  }

  @Test func `header fields are logged in full detail`() async throws {
    transport.expect(.any, .response(headers: ["Server": "nginx", "X-Trace": "12345678"]))
    _ = try await send(try request(headers: ["Accept": "text/plain", "X-Key": "1"]), detail: .headers).value
    #expect(
      log == [
        "#1 -> POST http://127.0.0.1/graphql, 0 bytes", "#1 ->   Accept: text/plain", "#1 ->   X-Key: <redacted>",
        "#1 <-   Server: nginx", "#1 <-   X-Trace: <redacted>", "#1 <- 200, 0 bytes, N ms",
      ])
  }

  @Test func `S3: a token is found in no line, wherever the server sends it back`() async throws {
    var headers: HTTPHeaders = ["Accept": "text/plain"]
    try headers.set("Authorization", to: "Bearer \(canary)")
    try headers.set("Cookie", to: "sid=\(canary)-2")
    var echo = HTTPHeaders()
    for name in ["Server", "Via", "ETag", "WWW-Authenticate", "Location", "Content-Type"] {
      try echo.set(name, to: "\(canary) Bearer \(canary) \(canary)-2")
    }
    transport.expect(.any, .response(status: 401, headers: echo, body: Data(canary.utf8)))
    transport.expect(.any, .failure(RequestError(.badResponse, "echo \(canary)", excerpt: "echo \(canary)")))
    let request = try request("http://127.0.0.1/graphql?token=\(canary)", headers: headers, body: Data(canary.utf8))
    _ = try await send(request, detail: .headers).value
    _ = await send(request, detail: .headers).failure
    #expect(log.count > 10)
    #expect(!log.joined().contains(canary))
  }

  @Test func `S3: a session's secrets are in no line, wherever they stand in the URL`() async throws {
    transport.expect(.any, .response())
    var request = try request("http://127.0.0.1/invites/\(canary)?\(canary)=1")
    request.context.secrets = [HTTPField(received: "code", value: canary)]
    _ = try await send(request).value
    #expect(log.first == "#1 -> POST http://127.0.0.1/invites/<redacted>?<redacted>=…, 0 bytes")
  }

  @Test func `S5: a server cannot forge a line`() async throws {
    transport.expect(.any, .failure(RequestError(.badResponse, "a\nforged \u{1B}[2J")))
    _ = await send(try request(operationName: "a\nb")).failure
    #expect(log.count == 2)
    #expect(log.joined().unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
  }
}
