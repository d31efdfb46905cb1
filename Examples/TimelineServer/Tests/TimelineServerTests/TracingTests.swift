import GraphQLClient
import GraphQLClientTracing
import Hummingbird
import HummingbirdTesting
import InMemoryTracing
import Streams
import Testing
import Tracing

@testable import TimelineServer

@Suite struct TracingTests {
  @Test func `the span of a browser's request is the parent of that of the request to the BFF`() async throws {
    let bff = try await BFF()
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    var client = try APIClient(baseURL: bff.url, middlewares: .standard())
    client.observer = RequestTracer(tracer)
    let visitors = Visitors(checkInterval: .seconds(60))
    let timelines = Timelines(client: client, staleTime: .seconds(5))
    let application = Application(router: router(timelines, visitors, .never()))
    try await application.test(.router) { browser in
      let login = try await browser.execute(uri: "/login?user=0", method: .post)
      let cookie = try #require(login.headers[.setCookie]?.split(separator: ";").first)
      _ = try await browser.execute(uri: "/timelines/0", method: .get, headers: [.cookie: String(cookie)])
    }
    let spans = tracer.finishedSpans
    let query = try #require(spans.first { $0.operationName == "query Timeline" })
    let parent = spans.first { $0.spanContext.spanID == query.spanContext.parentSpanID }
    #expect(parent?.operationName.contains("timelines/") == true)
    withExtendedLifetime(bff) {}
  }
}
