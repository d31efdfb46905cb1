import Foundation
import GraphQLClient
import GraphQLClientConventions
import GraphQLClientMetrics
import HTTPClientCore
import HTTPMiddlewares
import Metrics
import MetricsTestKit
import ObservabilityTestSupport
import Streams
import Testing

@Suite("Metrics", .timeLimit(.minutes(1)))
struct MetricsTests {
  private let metrics = TestMetrics()
  private let ended = Ended()

  private func client(_ server: LoopbackServer, timeout: Duration? = nil) throws -> APIClient {
    try Observed.client(server.url, RequestMetrics(factory: metrics), timeout: timeout, ended: ended)
  }

  private func labels(_ dimensions: [(String, String)]) -> [String: String] {
    Dictionary(dimensions) { $1 }
  }

  /// The labels of all series of a timer.
  private func timers(_ label: String) -> [[String: String]] {
    metrics.timers(label: label).map { labels($0.dimensions) }
  }

  @Test func `each attempt counts, by OpenTelemetry's names, and the request with all of them`() async throws {
    let server = try LoopbackServer { $0.number == 1 ? .status(503, headers: ["Retry-After": "0"]) : .user }
    _ = try await GetUser().post(on: client(server)).value
    try await ended.wait()
    let attempts = timers("http.client.request.duration")
    #expect(Set(attempts.map { $0["http.response.status_code"] }) == ["503", "200"])
    let failed = try #require(attempts.first { $0["error.type"] == "503" })
    #expect(
      failed == [
        "graphql.operation.name": "getUser", "graphql.operation.type": "query", "http.request.method": "POST",
        "url.scheme": "http", "server.address": "127.0.0.1", "server.port": "\(server.url.port ?? 0)",
        "http.response.status_code": "503", "error.type": "503", "network.protocol.version": "1.1",
      ])
    #expect(
      metrics.timers(label: "http.client.request.duration").allSatisfy { $0.values.count == 1 && $0.values[0] > 0 })
    let whole = ["graphql.operation.name": "getUser", "graphql.operation.type": "query", "error.type": ""]
    #expect(timers("graphql.client.request.duration") == [whole] && timers("graphql.client.queue.duration") == [whole])
    let retries = metrics.counters(label: "graphql.client.retries")
    #expect(retries.map(\.totalValue) == [1] && labels(retries[0].dimensions)["error.type"] == "503")
    let sizes = metrics.recorders(label: "http.client.response.body.size")
    #expect(sizes.first { labels($0.dimensions)["http.response.status_code"] == "200" }?.values == [23])
    let sent = metrics.recorders(label: "http.client.request.body.size").flatMap(\.values)
    #expect(sent.count == 2 && sent.allSatisfy { $0 == Double(server.requests[0].body.utf8.count) })
  }

  @Test func `durations are shown in seconds`() async throws {
    let server = try LoopbackServer { _ in .user }
    _ = try await GetUser().post(on: client(server)).value
    try await ended.wait()
    let timer = try #require(metrics.timers(label: "http.client.request.duration").first)
    let nanoseconds = try #require(timer.values.first)
    #expect(timer.displayUnit == .seconds && timer.valueInPreferredUnit(atIndex: 0) == Double(nanoseconds) / 1e9)
  }

  @Test func `a metric has the same labels whatever becomes of a request`() async throws {
    let server = try LoopbackServer { request in
      switch request.number {
      case 1: .cut
      case 2: .status(404)
      default: .user
      }
    }
    let client = try client(server)
    await #expect(throws: (any Error).self) { try await SetName().post(on: client).value }
    await #expect(throws: (any Error).self) { try await Download().get(on: client).value }
    _ = try await GetUser().post(on: client).value
    try await ended.wait(3)
    for label in ["http.client.request.duration", "graphql.client.request.duration"] {
      let series = timers(label)
      #expect(series.count >= 3 && Set(series.map { $0.keys.sorted() }).count == 1)
    }
    let outcomes = Set(timers("graphql.client.request.duration").map { $0["error.type"] })
    #expect(outcomes == ["connection_lost", "404", ""])
  }

  @Test func `requests in flight are counted until they end, also by a cancellation or a deadline`() async throws {
    let server = try LoopbackServer { _ in .silence }
    let client = try client(server, timeout: .milliseconds(100))
    var patient = client
    patient.timeouts.total = .seconds(60)
    let cancelled = Task { [patient] in try await GetUser().post(on: patient).value }
    try await ended.waitForAttempt()
    #expect(metrics.meters(label: "http.client.active_requests").first?.values.last == 1)
    cancelled.cancel()
    await #expect(throws: (any Error).self) { try await cancelled.value }
    await #expect(throws: (any Error).self) { try await SetName().post(on: client).value }
    try await ended.wait(2)
    #expect(metrics.meters(label: "http.client.active_requests").first?.values.last == 0)
    let outcomes = Set(timers("graphql.client.request.duration").map { $0["error.type"] })
    #expect(outcomes == ["cancelled", "timed_out"])
  }

  @Test func `no label holds a secret`() async throws {
    let server = try LoopbackServer { $0.number == 1 ? .cut : .status(500, body: Observed.secret) }
    let client = try client(server)
    await #expect(throws: (any Error).self) { try await GetUser().post(on: client).value }
    await #expect(throws: (any Error).self) { try await Download().get(on: client).value }
    try await ended.wait(2)
    let all =
      metrics.timers.map { "\($0.label) \($0.dimensions)" } + metrics.counters.map { "\($0.label) \($0.dimensions)" }
      + metrics.recorders.map { "\($0.label) \($0.dimensions)" } + metrics.meters.map { "\($0.label) \($0.dimensions)" }
    #expect(all.count > 8 && !all.joined().contains(Observed.secret))
  }

  @Test func `operations and servers beyond the limits share a label`() throws {
    let observer = RequestMetrics(factory: metrics, operations: 2, servers: 1)
    for number in 1...4 {
      var request = try HTTPRequest(
        method: .post, url: #require(URL(string: "https://s\(number).test/graphql")), operationName: "op\(number)")
      let listener = observer.begin(&request)
      listener(.attemptEnded(AttemptSummary(outcome: .succeeded, status: 200)))
      listener(.ended(RequestSummary(outcome: .succeeded, status: 200)))
    }
    let series = timers("http.client.request.duration")
    #expect(Set(series.map { $0["graphql.operation.name"] }) == ["op1", "op2", "_OTHER"])
    #expect(Set(series.map { $0["server.address"] }) == ["s1.test", "_OTHER"])
    #expect(Set(series.map { $0["server.port"] }) == ["443", ""])
  }

  @Test func `a method that is not known is no label of its own`() throws {
    let observer = RequestMetrics(factory: metrics)
    var request = try HTTPRequest(
      method: HTTPMethod("BREW"), url: #require(URL(string: "https://s.test/")))
    observer.begin(&request)(.attemptEnded(AttemptSummary(outcome: .succeeded, status: 200)))
    #expect(timers("http.client.request.duration").map { $0["http.request.method"] } == ["_OTHER"])
  }

  @Test func `a response from a cache is a hit, and no attempt`() async throws {
    let server = try LoopbackServer { _ in
      .status(200, headers: ["Cache-Control": "max-age=60"], body: #"{"data":{"name":"Wei"}}"#)
    }
    var client = try APIClient(baseURL: server.url, middlewares: .standard(cache: MemoryCacheStorage()))
    client.observer = RequestObservers([RequestMetrics(factory: metrics), ended])
    for _ in 0..<2 { _ = try await GetUser().get(on: client).value }
    try await ended.wait(2)
    #expect(metrics.counters(label: "graphql.client.cache.hits").map(\.totalValue) == [1])
    #expect(metrics.timers(label: "http.client.request.duration").flatMap(\.values).count == 1)
    #expect(metrics.timers(label: "graphql.client.request.duration").flatMap(\.values).count == 2)
  }
}
