import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import InMemoryLogging
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import Observability
import Streams
import Testing
import Tracing

@Suite struct ObservabilityTests {
  private struct GetUser: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      let name: String
    }
    static let query: GraphQLDocument = "query getUser { name }"
  }

  private let transport = ScriptedTransport()

  private func client(_ observer: some RequestObserver) throws -> APIClient {
    let provider = InMemoryTokenProvider(AccessToken("canary-token")) { _ in .just(AccessToken("canary-token")) }
    var client = try APIClient(
      baseURL: #require(URL(string: "https://bff.example.com/graphql")), transport: transport,
      middlewares: .standard(tokens: provider))
    client.observer = observer
    transport.expect(.any, .response(status: 503))
    transport.expect(.any, .json(#"{"data":{"name":"Wei"}}"#))
    return client
  }

  @Test func `logs tell of attempts, retries and ends, with one trace, and of no token`() async throws {
    let handler = InMemoryLogHandler()
    var logger = Logger(label: "requests") { _ in handler }
    logger.logLevel = .trace
    var client = try client(RequestLogger(logger))
    let trace = TraceContext()
    try client.defaultHeaders.set(TraceContext.fieldName, to: trace.description)
    _ = try await GetUser().post(on: client).value
    let entries = handler.entries
    #expect(entries.map(\.message) == ["attempt ended", "retrying", "attempt ended", "request ended"])
    #expect(entries.map(\.level) == [.debug, .notice, .debug, .info])
    #expect(entries.last?.metadata["attempts"] == "2" && entries.last?.metadata["status"] == "200")
    #expect(entries.allSatisfy { $0.metadata["trace"] == "\(trace.traceID)" })
    #expect(!"\(entries)".contains("canary"))
  }

  @Test func `metrics count retries and time requests`() async throws {
    let metrics = TestMetrics()
    _ = try await GetUser().post(on: client(RequestMetrics(factory: metrics))).value
    let retries = try metrics.expectCounter("http.client.retries", [("operation", "getUser"), ("reason", "503")])
    #expect(retries.totalValue == 1)
    let dimensions = [("operation", "getUser"), ("outcome", "succeeded"), ("status", "200")]
    let timer = try metrics.expectTimer("http.client.request.duration", dimensions)
    #expect(timer.values.count == 1)
    let sizes = try metrics.expectRecorder("http.client.response.body.size", dimensions)
    #expect(sizes.values == [23])
  }

  @Test func `a span stands below the task's, and its context travels to the server`() async throws {
    let tracer = InMemoryTracer()
    let client = try client(RequestTracer(tracer))
    try await tracer.withAnySpan("task") { _ in _ = try await GetUser().post(on: client).value }
    let spans = tracer.finishedSpans
    let span = try #require(spans.first { $0.operationName == "getUser" })
    #expect(span.kind == .client)
    #expect(span.parentSpanID == spans.first { $0.operationName == "task" }?.spanID)
    #expect(span.events.map(\.name) == ["attempt", "retry", "attempt"])
    #expect(span.attributes["http.response.status_code"]?.toSpanAttribute() == .int64(200))
    #expect(!tracer.performedContextInjections.isEmpty)
    let carried = transport.requests.map { request in
      request.headers.contains { $0.value.contains(span.traceID) }
    }
    #expect(carried == [true, true])
  }

  @Test func `one observer may be several`() async throws {
    let handler = InMemoryLogHandler()
    let tracer = InMemoryTracer()
    let logger = Logger(label: "requests") { _ in handler }
    _ = try await GetUser().post(on: client(RequestObservers([RequestTracer(tracer), RequestLogger(logger)]))).value
    #expect(handler.entries.last?.message == "request ended")
    #expect(tracer.finishedSpans.count == 1)
  }
}
