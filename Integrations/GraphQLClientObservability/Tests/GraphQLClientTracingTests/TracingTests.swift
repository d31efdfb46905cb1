import Foundation
import GraphQLClient
import GraphQLClientSpanRecorder
import GraphQLClientTracing
import HTTPClientCore
import HTTPMiddlewares
import ObservabilityTestSupport
import Streams
import Testing
import Tracing

@Suite("Traces", .timeLimit(.minutes(1)))
struct TracingTests {
  private let recorder = SpanRecorder(service: "client")
  private let ended = Ended()

  private func client(_ server: LoopbackServer, timeout: Duration? = nil) throws -> APIClient {
    try Observed.client(server.url, RequestTracer(recorder), timeout: timeout, ended: ended)
  }

  private func span(_ name: String) throws -> RecordedSpan {
    try #require(recorder.spans.first { $0.name == name })
  }

  private var attempts: [RecordedSpan] { recorder.spans.filter { $0.kind == .client }.sorted { $0.start < $1.start } }

  @Test func `a request is a span below the task's, with a span for each attempt below it`() async throws {
    let server = try LoopbackServer { $0.number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .user }
    let client = try client(server)
    try await recorder.withSpan("task") { _ in _ = try await GetUser().post(on: client).value }
    try await ended.wait()
    let request = try span("query getUser")
    #expect(request.parentID == (try span("task")).trace.spanID && request.kind == .internal)
    #expect(request["graphql.operation.name"] == "getUser" && request["graphql.operation.type"] == "query")
    #expect(request["graphql.client.attempts"] == "2" && request["http.response.status_code"] == "200")
    #expect(request.events.map(\.name) == ["retry"] && request.status == nil)
    #expect(attempts.map(\.name) == ["POST", "POST"])
    #expect(attempts.allSatisfy { $0.parentID == request.trace.spanID && $0.trace.traceID == request.trace.traceID })
    #expect(attempts.map { $0["http.response.status_code"] } == ["503", "200"])
    #expect(attempts.map { $0["error.type"] } == ["503", nil])
    #expect(attempts.map { $0["http.request.resend_count"] } == [nil, "1"])
    #expect(attempts[0].status?.code == .error && attempts[1].status == nil)
    for attempt in attempts {
      #expect(attempt["http.request.method"] == "POST" && attempt["url.full"] == "\(server.url)")
      #expect(attempt["server.address"] == "127.0.0.1" && attempt["server.port"] == "\(server.url.port ?? 0)")
      #expect(attempt["network.protocol.version"] == "1.1")
      #expect(request.start <= attempt.start && attempt.end <= request.end)
    }
  }

  @Test func `the server's span is below that of the attempt it responded to`() async throws {
    let backend = SpanRecorder(service: "server")
    let server = try LoopbackServer { request in
      var context = ServiceContext.topLevel
      backend.extract(request.headers, into: &context, using: FieldExtractor())
      let span = backend.startSpan("POST /graphql", context: context, ofKind: .server)
      defer { span.end() }
      return request.number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .user
    }
    _ = try await GetUser().post(on: client(server)).value
    try await ended.wait()
    #expect(backend.spans.map(\.parentID) == attempts.map(\.trace.spanID))
    #expect(Set(backend.spans.map(\.trace.traceID)) == [try span("query getUser").trace.traceID])
    for (outer, inner) in zip(attempts, backend.spans) { #expect(outer.start < inner.start && inner.end < outer.end) }
  }

  @Test func `the events of an attempt are the steps of its connection, in order and in its time`() async throws {
    let server = try LoopbackServer { _ in .user }
    let client = try client(server)
    for _ in 0..<2 { _ = try await GetUser().post(on: client).value }
    try await ended.wait(2)
    #expect(
      attempts.map { $0.events.map(\.name) } == [
        ["connection.connected", "connection.acquired", "response.head"], ["connection.acquired", "response.head"],
      ])
    #expect(attempts.map { $0["graphql.client.connection.reused"] } == ["false", "true"])
    for attempt in attempts {
      let times = [attempt.start] + attempt.events.map(\.nanosecondsSinceEpoch) + [attempt.end]
      #expect(times == times.sorted())
    }
    #expect(attempts[0].events[0].attributes.get("duration") != nil)
  }

  @Test func `all steps of an opening are events, and those before the attempt are left out`() throws {
    func events(idle: Duration) throws -> [String] {
      let recorder = SpanRecorder(service: "client")
      var request = try HTTPRequest(method: .post, url: #require(URL(string: "https://s.test/graphql")))
      let listener = RequestTracer(recorder).begin(&request)
      request.onAttempt?(1, &request)
      let opening = ConnectionOpeningTimes(
        lookUp: .milliseconds(2), connect: .milliseconds(3), tunnel: .milliseconds(4), tls: .milliseconds(5), idle: idle
      )
      listener(
        .attemptEnded(
          AttemptSummary(
            outcome: .succeeded, status: 200, connectTime: .milliseconds(14), isConnectionReused: false,
            connectionOpening: opening, firstByteTime: .milliseconds(20), duration: .milliseconds(21))))
      let span = try #require(recorder.spans.first)
      #expect(span.end - span.start == 21_000_000)
      return span.events.map { "\($0.name) \(($0.nanosecondsSinceEpoch - span.start) / 1_000_000)" }
    }
    let last = ["connection.acquired 14", "response.head 20"]
    #expect(
      try events(idle: .zero) == [
        "connection.name_resolved 2", "connection.connected 5", "connection.tunnelled 9", "connection.secured 14",
      ] + last)
    #expect(try events(idle: .milliseconds(8)) == ["connection.tunnelled 1", "connection.secured 6"] + last)
    #expect(try events(idle: .seconds(8)) == last)
  }

  @Test func `a request's span contains those of its attempts, whose durations begin before their spans`() throws {
    let recorder = SpanRecorder(service: "client")
    var request = try HTTPRequest(method: .post, url: #require(URL(string: "https://s.test/graphql")))
    let listener = RequestTracer(recorder).begin(&request)
    request.onAttempt?(1, &request)
    listener(.attemptEnded(AttemptSummary(outcome: .succeeded, status: 200, duration: .seconds(5))))
    listener(.ended(RequestSummary(outcome: .succeeded, status: 200)))
    let spans = recorder.spans.sorted { $0.start < $1.start }
    try #require(spans.map(\.kind) == [.internal, .client])
    #expect(spans[1].end == spans[1].start + 5_000_000_000)
    #expect(spans[0].end >= spans[1].end)
  }

  @Test func `an attempt that begins as its request is cancelled leaves no span open`() throws {
    let recorder = SpanRecorder(service: "client")
    var request = try HTTPRequest(method: .post, url: #require(URL(string: "https://s.test/graphql")))
    let listener = RequestTracer(recorder).begin(&request)
    listener(.ended(RequestSummary(outcome: .cancelled)))
    request.onAttempt?(1, &request)
    #expect(recorder.spans.map(\.kind) == [.internal, .client])
  }

  @Test func `a failure has a type, and a status with the error`() async throws {
    let server = try LoopbackServer { _ in .cut }
    let client = try client(server)
    await #expect(throws: RequestError.self) { try await SetName().post(on: client).value }
    try await ended.wait()
    let request = try span("mutation setName")
    #expect(request["error.type"] == "connection_lost" && request.status?.code == .error)
    #expect(request.status?.message?.isEmpty == false)
    #expect(attempts.map { $0["error.type"] } == ["connection_lost"])
    #expect(attempts.map { $0.status?.code } == [.error])
  }

  @Test func `a cancelled request ends its spans, and is no error`() async throws {
    let server = try LoopbackServer { _ in .silence }
    let client = try client(server)
    let task = Task { try await GetUser().post(on: client).value }
    try await ended.waitForAttempt()
    task.cancel()
    await #expect(throws: (any Error).self) { try await task.value }
    try await ended.wait()
    #expect(recorder.spans.map(\.name) == ["POST", "query getUser"])
    #expect(recorder.spans.allSatisfy { $0["error.type"] == "cancelled" && $0.status == nil })
  }

  @Test func `a deadline is an error of the attempt and of the request`() async throws {
    let server = try LoopbackServer { _ in .silence }
    let client = try client(server, timeout: .milliseconds(100))
    await #expect(throws: RequestError.self) { try await SetName().post(on: client).value }
    try await ended.wait()
    #expect(recorder.spans.map { $0["error.type"] } == ["timed_out", "timed_out"])
  }

  @Test func `no span holds a secret`() async throws {
    let server = try LoopbackServer { request in
      request.number == 1 ? .cut : .status(500, body: #"{"message": "canary-9f3b"}"#)
    }
    let client = try client(server)
    await #expect(throws: (any Error).self) { try await GetUser().post(on: client).value }
    await #expect(throws: (any Error).self) { try await GetUser().get(on: client).value }
    await #expect(throws: (any Error).self) { try await Download().get(on: client).value }
    try await ended.wait(3)
    #expect(server.requests.contains { $0.target.contains("?") && $0.target.contains(Observed.secret) })
    let all = "\(SpanRecorder.zipkin([recorder]))"
    #expect(all.contains("url.full") && !all.contains(Observed.secret))
  }

  @Test func `the traceparent is that of each attempt, for the server and for nobody else`() async throws {
    let server = try LoopbackServer { $0.number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .user }
    _ = try await GetUser().post(on: client(server)).value
    try await ended.wait()
    let sent = server.requests.compactMap { $0.headers["traceparent"].flatMap { TraceContext($0) } }
    #expect(sent.map(\.spanID) == attempts.map(\.trace.spanID) && Set(sent.map(\.spanID)).count == 2)
  }
}

private struct FieldExtractor: Extractor {
  func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}
