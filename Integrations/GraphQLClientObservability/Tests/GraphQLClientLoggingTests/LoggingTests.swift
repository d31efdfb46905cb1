import Foundation
import GraphQLClient
import GraphQLClientLogging
import GraphQLClientSpanRecorder
import GraphQLClientTracing
import HTTPClientCore
import HTTPMiddlewares
import InMemoryLogging
import Logging
import ObservabilityTestSupport
import Streams
import Testing

@Suite("Logs", .timeLimit(.minutes(1)))
struct LoggingTests {
  private let handler = InMemoryLogHandler()

  private func logger() -> Logger {
    var logger = Logger(label: "requests") { _ in handler }
    logger.logLevel = .trace
    return logger
  }

  private var messages: [Logger.Message] { handler.entries.map(\.message) }

  @Test func `attempts, retries and ends, with the names of OpenTelemetry`() async throws {
    let server = try LoopbackServer { $0.number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .user }
    let client = try Observed.client(server.url, RequestLogger(logger()))
    _ = try await GetUser().post(on: client).value
    let entries = handler.entries
    #expect(messages == ["attempt ended", "retrying", "attempt ended", "request ended"])
    #expect(entries.map(\.level) == [.debug, .notice, .debug, .info])
    for entry in entries {
      #expect(entry.metadata["graphql.operation.name"] == "getUser")
      #expect(entry.metadata["graphql.operation.type"] == "query")
      #expect(entry.metadata["http.request.method"] == "POST" && entry.metadata["server.address"] == "127.0.0.1")
    }
    #expect(entries[0].metadata["http.response.status_code"] == "503" && entries[0].metadata["error.type"] == "503")
    #expect(entries[0].metadata["graphql.client.connection.reused"] == "false")
    #expect("\(try #require(entries[0].metadata["graphql.client.connection.opening"]))".hasPrefix("connect "))
    #expect(entries[1].metadata["error.type"] == "503")
    #expect(entries[2].metadata["http.request.resend_count"] == "1" && entries[2].metadata["error.type"] == nil)
    #expect(entries[3].metadata["graphql.client.attempts"] == "2" && entries[3].metadata["error.type"] == nil)
  }

  @Test func `a failure is an error, with its kind and its text`() async throws {
    let server = try LoopbackServer { _ in .status(422, body: #"{"errors":[{"message":"no canary-9f3b here"}]}"#) }
    let client = try Observed.client(server.url, RequestLogger(logger()))
    await #expect(throws: (any Error).self) { try await SetName().post(on: client).value }
    let last = try #require(handler.entries.last)
    #expect(last.message == "request ended" && last.level == .error)
    #expect(last.metadata["error.type"] != nil && last.metadata["error.message"] != nil)
    #expect(last.metadata["graphql.operation.type"] == "mutation")
    #expect(!"\(handler.entries)".contains(Observed.secret))
  }

  @Test func `a cancellation is no error`() async throws {
    let server = try LoopbackServer { _ in .silence }
    let ended = Ended()
    let client = try Observed.client(server.url, RequestLogger(logger()), ended: ended)
    let task = Task { try await GetUser().post(on: client).value }
    try await ended.waitForAttempt()
    task.cancel()
    await #expect(throws: (any Error).self) { try await task.value }
    try await ended.wait()
    let last = try #require(handler.entries.last)
    #expect(last.level == .info && last.metadata["error.type"] == "cancelled")
  }

  @Test func `no secret is logged, wherever it is in a request`() async throws {
    let server = try LoopbackServer { request in
      request.number == 1 ? .cut : .status(500, body: #"{"message": "canary-9f3b"}"#)
    }
    let client = try Observed.client(
      server.url, RequestObservers([RequestTracer(SpanRecorder(service: "client")), RequestLogger(logger())]))
    await #expect(throws: (any Error).self) { try await GetUser().post(on: client).value }
    await #expect(throws: (any Error).self) { try await Download().get(on: client).value }
    #expect(server.requests.contains { "\($0)".contains(Observed.secret) })
    #expect(handler.entries.count > 4 && !"\(handler.entries)".contains(Observed.secret))
  }

  @Test func `after a tracer, each line has the trace`() async throws {
    let server = try LoopbackServer { _ in .user }
    let recorder = SpanRecorder(service: "client")
    let ended = Ended()
    let observers = RequestObservers([RequestTracer(recorder), RequestLogger(logger())])
    _ = try await GetUser().post(on: Observed.client(server.url, observers, ended: ended)).value
    try await ended.wait()
    let span = try #require(recorder.spans.first { $0.name == "query getUser" })
    #expect(handler.entries.count == 2)
    for entry in handler.entries {
      #expect(entry.metadata["trace_id"] == "\(span.trace.traceID)")
      #expect(entry.metadata["span_id"] == "\(span.trace.spanID)")
    }
  }

  @Test func `what is not logged costs no metadata, and a level is the logger's`() async throws {
    let server = try LoopbackServer { $0.number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .user }
    var logger = logger()
    logger.logLevel = .notice
    _ = try await GetUser().post(on: Observed.client(server.url, RequestLogger(logger))).value
    #expect(messages == ["retrying"])
  }

  @Test func `lines of the logging middleware come to a logger at its level, and without secrets`() async throws {
    let server = try LoopbackServer { _ in .user }
    var client = try APIClient(
      baseURL: server.url, defaultHeaders: ["Authorization": "Bearer canary-9f3b"])
    client.middlewares = [LoggingMiddleware(logger(), level: .notice, detail: .headers)]
    _ = try await GetUser().post(on: client).value
    #expect(handler.entries.allSatisfy { $0.level == .notice })
    let first = try #require(handler.entries.first)
    #expect("\(first.message)".hasPrefix("#1 getUser -> POST http://127.0.0.1:"))
    #expect(handler.entries.contains { "\($0.message)".contains("<- 200, 23 bytes") })
    #expect(!"\(handler.entries)".contains(Observed.secret))
  }
}
