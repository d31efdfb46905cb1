import GraphQLClientTesting
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite("deadlines over all attempts")
struct DeadlineMiddlewareTests {
  private func request(total: Duration?) throws -> HTTPRequest {
    try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: total))
  }

  @Test func `T6: the deadline ends a request at its total, and stops the exchange`() throws {
    let harness = MiddlewareHarness { [DeadlineMiddleware(scheduler: $0)] }
    harness.transport.always(.never)
    let outcome = try harness.start(request(total: .milliseconds(250)))
    harness.scheduler.advance(by: .milliseconds(249))
    #expect(outcome.result == nil)
    harness.scheduler.advance(by: .milliseconds(1))
    #expect(outcome.error?.kind == .timedOut)
    #expect(outcome.error?.operationName == "q")
    #expect(harness.transport.cancellations == 1)
  }

  @Test(arguments: [
    (Duration.seconds(9), Duration.seconds(5), Duration.seconds(5)), (.seconds(5), .seconds(9), .seconds(5)),
  ])
  func `T6: nested deadlines only shorten`(outer: Duration, inner: Duration, expected: Duration) throws {
    let harness = MiddlewareHarness {
      [DeadlineMiddleware(outer, scheduler: $0), DeadlineMiddleware(inner, scheduler: $0)]
    }
    harness.transport.always(.never)
    let outcome = try harness.start(request(total: .seconds(60)))
    harness.scheduler.advance(by: expected)
    #expect(outcome.error?.kind == .timedOut)
    #expect(harness.transport.requests.map(\.timeouts.total) == [expected])
    #expect(harness.scheduler.pendingCount == 0)
  }

  @Test func `T6: the deadline ends what other middlewares wait for`() throws {
    struct Wait: HTTPMiddleware {
      func intercept(
        _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
      ) -> Observable<HTTPResponsePart> {
        .never()
      }
    }
    let harness = MiddlewareHarness { [DeadlineMiddleware(.seconds(2), scheduler: $0), Wait()] }
    let outcome = try harness.start(request(total: nil))
    harness.scheduler.run()
    #expect(outcome.error?.kind == .timedOut)
    #expect(harness.scheduler.now == .seconds(2))
  }

  @Test func `T6: above, it is for all attempts; below, for each`() throws {
    let harness = MiddlewareHarness { scheduler in
      [
        DeadlineMiddleware(.seconds(10), scheduler: scheduler),
        RetryMiddleware(.exponential(attempts: 3, initial: .seconds(1), jitter: 0), scheduler: scheduler),
        DeadlineMiddleware(.seconds(4), scheduler: scheduler),
      ]
    }
    harness.transport.always(.never)
    let outcome = try harness.start(request(total: .seconds(60)))
    harness.scheduler.run()
    // 0 to 4, 5 to 9, and no third one at 11.
    #expect(outcome.error?.kind == .timedOut)
    #expect(harness.transport.requests.map(\.timeouts.total) == [.seconds(4), .seconds(4)])
    #expect(harness.scheduler.now == .seconds(9))
  }

  @Test func `T6: time that has passed already sends nothing`() throws {
    let harness = MiddlewareHarness { [DeadlineMiddleware(scheduler: $0)] }
    #expect(try harness.start(request(total: .zero)).error?.kind == .timedOut)
    #expect(harness.transport.requests.isEmpty)
  }

  @Test func `T6: a response in time leaves no timer, and a request without a deadline has none`() throws {
    let harness = MiddlewareHarness { [DeadlineMiddleware(scheduler: $0)] }
    harness.transport.always(.response())
    #expect(try harness.start(request(total: .seconds(1))).status == 200)
    #expect(harness.scheduler.pendingCount == 0)
    harness.transport.always(.never)
    _ = try harness.start(request(total: nil))
    #expect(harness.scheduler.pendingCount == 0)
  }

  /// The error that a reader has of a response whose body never ends, after an hour.
  private func errorOfEndless(
    _ type: String, status: Int = 200, _ request: HTTPRequest, limit: Duration? = nil, retries: Bool = false
  ) throws -> RequestError? {
    let scheduler = TestScheduler()
    var headers = HTTPHeaders()
    try headers.set("Content-Type", to: type)
    let (subject, error) = (PublishSubject<HTTPResponsePart>(), Locked(RequestError?.none))
    let middlewares: [any HTTPMiddleware] =
      [DeadlineMiddleware(limit, scheduler: scheduler)] + (retries ? [RetryMiddleware(scheduler: scheduler)] : [])
    let stream = ClosureTransport { _ in subject.asObservable() }.send(request, through: middlewares)
      .subscribe(onError: { failure in error.withLock { $0 = failure as? RequestError } })
    subject.onNext(.head(HTTPResponseHead(status: status, headers: headers)))
    scheduler.advance(by: .seconds(3600))
    stream.dispose()
    return error.withLock { $0 }
  }

  @Test func `T6: the default total ends no stream and no download, and a total that was set ends any`() throws {
    var request = try MiddlewareHarness.request()
    #expect(try errorOfEndless("application/x-ndjson", request) == nil)
    #expect(try errorOfEndless("image/png", request) == nil)
    #expect(try errorOfEndless("application/json", request)?.kind == .timedOut)
    #expect(try errorOfEndless("text/plain", status: 503, request)?.kind == .timedOut)
    #expect(try errorOfEndless("image/png", request, limit: .seconds(90))?.kind == .timedOut)
    request.timeouts = request.timeouts.after(.seconds(1))
    #expect(try errorOfEndless("image/png", request) == nil)
    request.readsWholeResponse = true
    #expect(try errorOfEndless("image/png", request)?.kind == .timedOut)
    request.isDownload = true
    #expect(try errorOfEndless("application/json", request) == nil)
    #expect(try errorOfEndless("application/json", request, retries: true) == nil)
    request.timeouts.total = .seconds(60)
    #expect(try errorOfEndless("image/png", request)?.kind == .timedOut)
    #expect(try errorOfEndless("text/event-stream", self.request(total: .seconds(60)))?.kind == .timedOut)
  }
}
