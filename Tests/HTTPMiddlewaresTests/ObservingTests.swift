import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Synchronization
import SystemBase
import Testing

/// Writes down what it hears.
final class EventLog: RequestObserver {
  let lines = Mutex<[String]>([])
  let summaries = Mutex<[RequestSummary]>([])
  let attempts = Mutex<[AttemptSummary]>([])
  private let change: @Sendable (inout HTTPRequest) -> Void

  init(change: @escaping @Sendable (inout HTTPRequest) -> Void = { _ in }) {
    self.change = change
  }

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    add("begin \(request.operationName ?? "-")")
    change(&request)
    return { [self] event in
      switch event {
      case .dequeued(let wait): add("dequeued \(wait)")
      case .attemptStarted(let number): add("attempt \(number)")
      case .attemptEnded(let summary):
        attempts.withLock { $0.append(summary) }
        add("attempt \(summary.number) \(summary.outcome.label) \(summary.status ?? 0) \(summary.duration)")
      case .retrying(let delay, let reason): add("retrying \(delay) \(reason.status ?? 0) \(reason.kind)")
      case .hedging: add("hedging")
      case .challenged: add("challenged")
      case .redirected(let status): add("redirected \(status)")
      case .servedFromCache(let source): add("served from \(source)")
      case .ended(let summary):
        summaries.withLock { $0.append(summary) }
        add("ended \(summary.outcome.label) \(summary.status ?? 0) \(summary.attemptCount) \(summary.duration)")
      }
    }
  }

  private func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Takes one connection after the other, each after a second, and answers on the last.
private struct ConnectingTransport: HTTPTransport {
  let scheduler: TestScheduler
  let connections: [Bool]

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    for isReused in connections {
      scheduler.advance(by: .seconds(1))
      request.onConnected?(isReused)
    }
    return .just(.head(HTTPResponseHead(status: 200)))
  }
}

@Suite("Events of an observed request")
struct ObservingTests {
  private let log = EventLog()

  private func harness(_ more: (TestScheduler) -> [any HTTPMiddleware] = { _ in [] }) -> MiddlewareHarness {
    MiddlewareHarness { [ObservingMiddleware(log, scheduler: $0)] + more($0) }
  }

  private var lines: [String] { log.lines.withLock { $0 } }

  @Test func `a request that is given up while it begins has an end`() throws {
    let (bag, go) = (DisposeBag(), PublishSubject<Int>())
    let log = EventLog { _ in bag.dispose() }
    let observing = ObservingMiddleware(log, scheduler: TestScheduler())
    let request = try MiddlewareHarness.request()
    go.asObservable().flatMap { _ in observing.intercept(request) { _ in .never() } }.subscribe().disposed(by: bag)
    go.onNext(0)
    #expect(log.lines.withLock { $0 }.last?.hasPrefix("ended cancelled") == true)
  }

  @Test func `an observer receives nothing after the end`() throws {
    var request = try HTTPRequest(method: .get, url: #require(URL(string: "http://h/")))
    let observation = RequestObservation(log, &request, scheduler: TestScheduler())
    _ = observation.watch(Observable.just(1)).subscribe()
    observation.report(.hedging)
    #expect(lines.last?.hasPrefix("ended succeeded") == true)
    #expect(lines.count == 2)
  }

  @Test func `a request and its attempts, with reasons and times`() throws {
    let harness = harness {
      [RetryMiddleware(.exponential(attempts: 3, initial: .seconds(1), jitter: 0), scheduler: $0)]
    }
    harness.transport.expect(.response(status: 503, body: Data("no".utf8)).after(.seconds(2)))
    harness.transport.expect(.failure(RequestError(.connectionLost, "…")))
    harness.transport.expect(.json("{\"a\":1}").after(.seconds(3)))
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(
      lines == [
        "begin q", "attempt 1", "attempt 1 succeeded 503 2.0 seconds", "retrying 1.0 seconds 503 HTTP status",
        "attempt 2", "attempt 2 connection lost 0 0.0 seconds", "retrying 2.0 seconds 0 connection lost",
        "attempt 3", "attempt 3 succeeded 200 3.0 seconds", "ended succeeded 200 3 8.0 seconds",
      ])
    let summary = try #require(log.summaries.withLock { $0.first })
    #expect(summary.sentBytes == 6)
    #expect(summary.receivedBytes == 9)
    let last = try #require(log.attempts.withLock { $0.last })
    #expect(last.firstByteTime == .seconds(3))
    #expect(last.bodyTime == .zero)
    #expect(last.isConnectionReused == nil)
  }

  @Test func `the line, challenges, redirects and hedges`() throws {
    let tokens = InMemoryTokenProvider(AccessToken("t1")) { _ in .just(AccessToken("t2")) }
    let harness = harness {
      [
        ConcurrencyLimitMiddleware(1, scheduler: $0), AuthMiddleware(tokens, scheduler: $0), RedirectMiddleware(),
        HedgingMiddleware(after: .fixed(.seconds(1)), scheduler: $0),
      ]
    }
    harness.transport.expect(.never)
    let first = try harness.start(MiddlewareHarness.request("first"))
    harness.transport.expect(.response(status: 401))
    harness.transport.expect(.response(status: 307, headers: ["Location": "/there"]))
    harness.transport.expect(.never)
    harness.transport.expect(.response())
    _ = try harness.start(MiddlewareHarness.request("second"))
    harness.scheduler.advance(by: .milliseconds(500))
    first.dispose()
    harness.scheduler.run()
    #expect(
      lines == [
        "begin first", "attempt 1", "begin second", "attempt 1 cancelled 0 0.5 seconds",
        "ended cancelled 0 1 0.5 seconds", "dequeued 0.5 seconds", "attempt 1", "attempt 1 succeeded 401 0.0 seconds",
        "challenged", "attempt 2", "attempt 2 succeeded 307 0.0 seconds", "redirected 307", "attempt 3", "hedging",
        "attempt 4", "attempt 3 cancelled 0 1.0 seconds", "attempt 4 succeeded 200 0.0 seconds",
        "ended succeeded 200 4 1.5 seconds",
      ])
    #expect(log.summaries.withLock { $0.last }?.queueTime == .seconds(0.5))
  }

  @Test func `a request that fails unsent ends, too`() throws {
    let harness = harness { [DeadlineMiddleware(.zero, scheduler: $0)] }
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(lines == ["begin q", "ended timed out 0 0 0.0 seconds"])
  }

  @Test func `the end of the whole comes last, also where a deadline ends it`() throws {
    let harness = harness { [DeadlineMiddleware(.seconds(1), scheduler: $0)] }
    harness.transport.always(.never)
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(
      lines == ["begin q", "attempt 1", "attempt 1 timed out 0 1.0 seconds", "ended timed out 0 1 1.0 seconds"])
  }

  @Test func `the transport tells of the connection`() throws {
    let scheduler = TestScheduler()
    let transport = ConnectingTransport(scheduler: scheduler, connections: [true])
    var request = try MiddlewareHarness.request()
    let others = Locked<[Bool]>([])
    request.onConnected = { isReused in others.withLock { $0.append(isReused) } }
    _ = transport.send(request, through: [ObservingMiddleware(log, scheduler: scheduler)]).subscribe()
    #expect(others.withLock { $0 } == [true])
    let attempt = try #require(log.attempts.withLock { $0.first })
    #expect(attempt.connectTime == .seconds(1))
    #expect(attempt.isConnectionReused == true)
  }

  @Test func `a connection that takes the place of another one is the one that counts`() throws {
    let scheduler = TestScheduler()
    let transport = ConnectingTransport(scheduler: scheduler, connections: [true, false])
    let observing = ObservingMiddleware(log, scheduler: scheduler)
    _ = transport.send(try MiddlewareHarness.request(), through: [observing]).subscribe()
    let attempt = try #require(log.attempts.withLock { $0.first })
    #expect(attempt.connectTime == .seconds(2))
    #expect(attempt.isConnectionReused == false)
  }

  @Test func `a trace that came along, or that a tracer put there, is passed on as it is`() throws {
    let given = TraceContext().description
    let harness = harness()
    harness.transport.always(.response())
    var request = try MiddlewareHarness.request()
    try request.headers.set("traceparent", to: given)
    _ = try harness.finish(request)
    let tracer = EventLog { try? $0.headers.set("traceparent", to: given) }
    var other = harness
    other.middlewares = [ObservingMiddleware(RequestObservers([log, tracer]), scheduler: harness.scheduler)]
    _ = try other.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.map { $0.headers["traceparent"] } == [given, given])
  }

  @Test func `an observer that puts no trace there has none sent`() throws {
    let harness = harness()
    harness.transport.always(.response())
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.first?.headers.contains("traceparent") == false)
  }

  @Test func `another part of a trace belongs to the same one`() {
    let trace = TraceContext()
    let part = trace.child()
    #expect(part.traceID == trace.traceID)
    #expect(part.spanID != trace.spanID)
    #expect(part.isSampled)
    #expect(TraceContext(part.description) == part)
  }

  @Test(arguments: [
    ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
    ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what", true),
    ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what", false),
    ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
    ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
    ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
    ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
    ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false), ("", false), ("----", false),
    ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g", false),
  ])
  func `traceparent is read as the standard says`(value: String, isValid: Bool) {
    #expect((TraceContext(value) != nil) == isValid)
  }

  @Test func `errors in events say what became of the request, and when to try again`() throws {
    let harness = harness()
    var error = RequestError(.cannotConnect, "refused", reached: .maybe)
    error.retryAfter = .seconds(3)
    harness.transport.always(.failure(error))
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(log.summaries.withLock { $0.first }?.outcome == .failed(error))
  }

  @Test func `errors in events hold nothing that a middleware kept secret`() throws {
    let tokens = InMemoryTokenProvider(AccessToken("canary-token")) { _ in .never() }
    let harness = harness { [AuthMiddleware(tokens, scheduler: $0)] }
    harness.transport.always(
      .failure(
        RequestError(
          .badResponse, "echo canary-token", excerpt: "canary-token", cause: AccessToken("canary-token").asError)))
    _ = try harness.finish(MiddlewareHarness.request())
    guard case .failed(let error)? = log.summaries.withLock({ $0.first })?.outcome else {
      throw RequestError(.unknown, "There was no failure.")
    }
    var dumped = ""
    dump(error, to: &dumped)
    #expect(error.message == "echo <redacted>")
    #expect(!dumped.contains("canary"))
  }
}

extension AccessToken {
  fileprivate struct Failure: Error {
    let text: String
  }

  fileprivate var asError: any Error { Failure(text: value) }
}
