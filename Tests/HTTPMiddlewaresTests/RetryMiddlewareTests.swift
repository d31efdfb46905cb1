import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@Suite("R1 to R4: retries")
struct RetryMiddlewareTests {
  private static let passing: [ScriptedResponse] =
    [RequestError.Kind.cannotConnect, .connectionLost, .timedOut].map { .failure(RequestError($0, "…")) }
    + [408, 425, 429, 500, 502, 503, 504, 520, 599, 600].map { .response(status: $0) }

  private static let lasting: [ScriptedResponse] =
    [
      RequestError.Kind.insecure, .undecodable, .cancelled, .badResponse, .tooLarge, .invalidRequest,
      .redirectRefused, .unknown,
    ].map { .failure(RequestError($0, "…")) }
    + [200, 204, 304, 400, 401, 403, 404, 405, 409, 410, 418, 422, 451, 501, 505, 506, 507, 508, 510, 511].map {
      .response(status: $0)
    }

  private static let always = RetryPolicy.exponential(
    attempts: 3, initial: .milliseconds(100), jitter: 0, random: { 0 })

  private func harness(
    _ policy: RetryPolicy = Self.always, budget: RetryBudget = RetryBudget(), limit: Int = 1 << 20
  ) -> MiddlewareHarness {
    MiddlewareHarness { scheduler in
      [
        RetryMiddleware(policy, budget: budget, holdingBack: limit, scheduler: scheduler) {
          Date(timeIntervalSince1970: 784_111_777 + scheduler.now / .seconds(1))
        }
      ]
    }
  }

  @Test(arguments: passing.indices)
  func `R2: a query is tried again twice after failures that pass`(index: Int) throws {
    let harness = harness()
    harness.transport.always(Self.passing[index])
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.count == 3)
    #expect(harness.scheduler.now == .milliseconds(300))
  }

  @Test(arguments: lasting.indices)
  func `R4: a request whose failure is permanent is sent once`(index: Int) throws {
    let harness = harness()
    harness.transport.always(Self.lasting[index])
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.count == 1)
  }

  @Test(arguments: passing.indices)
  func `R1: a mutation is sent once, whatever happens`(index: Int) throws {
    let harness = harness()
    harness.transport.always(Self.passing[index])
    _ = try harness.finish(MiddlewareHarness.request(isReplayable: false))
    #expect(harness.transport.requests.count == 1)
  }

  @Test func `R1: a mutation that is declared idempotent carries one key through all attempts`() throws {
    let harness = harness()
    harness.transport.always(.response(status: 503))
    var request = try MiddlewareHarness.request(isReplayable: false)
    try request.setIdempotencyKey("8e03978e-40d5-43dd-bc93-6894a57f9324")
    _ = try harness.finish(request)
    #expect(harness.transport.requests.map(\.idempotencyKey) == Array(repeating: request.idempotencyKey, count: 3))
  }

  @Test func `a later attempt's response is the response`() throws {
    let harness = harness()
    harness.transport.expect(.json("no", status: 503))
    harness.transport.expect(.json("half").thenFailing(RequestError(.connectionLost, "…")))
    harness.transport.expect(.json("whole").inPieces(of: 1))
    let response = try harness.finish(MiddlewareHarness.request()).get()
    #expect(response.head.status == 200)
    #expect(response.body == Data("whole".utf8))
    #expect(harness.transport.failures.isEmpty)
  }

  @Test func `the last response is delivered whole when all attempts fail`() throws {
    let harness = harness()
    harness.transport.expect(.json("first", status: 500))
    harness.transport.expect(.failure(RequestError(.cannotConnect, "…")))
    harness.transport.expect(.json("last", status: 502).inPieces(of: 2))
    let response = try harness.finish(MiddlewareHarness.request()).get()
    #expect(response.head.status == 502)
    #expect(response.body == Data("last".utf8))
  }

  @Test func `R2: delays double, and jitter takes any part of them`() {
    let full = RetryPolicy.exponential(attempts: 4, initial: .milliseconds(100), random: { 0.75 })
    let error = RequestError(.timedOut, "…")
    #expect((1...3).map { full.delay($0, error) } == [.milliseconds(25), .milliseconds(50), .milliseconds(100)])
  }

  @Test func `R2: delays grow to their maximum, and no further`() {
    let policy = RetryPolicy.exponential(attempts: 7, initial: .seconds(1), maximum: .seconds(5), jitter: 0)
    let error = RequestError(.timedOut, "…")
    #expect((1...6).map { policy.delay($0, error) } == [1, 2, 4, 5, 5, 5].map { .seconds($0) })
    let unset = RetryPolicy.exponential(attempts: 100, initial: .seconds(1), jitter: 0)
    #expect(unset.delay(50, error) == .seconds(30))
  }

  @Test func `R2: unless set all of a delay is left to chance`() throws {
    let policy = RetryPolicy.exponential(attempts: 2, initial: .seconds(1))
    let delays = try (0..<200).map { _ in try #require(policy.delay(1, RequestError(.timedOut, "…"))) }
    #expect(delays.allSatisfy { $0 > .zero && $0 <= .seconds(1) })
    #expect(delays.contains { $0 < .milliseconds(250) })
    #expect(delays.contains { $0 > .milliseconds(750) })
  }

  @Test func `R2: no attempt begins after the total deadline, and each gets what is left of it`() throws {
    let harness = harness(.exponential(attempts: 10, initial: .seconds(1), jitter: 0))
    harness.transport.always(.failure(RequestError(.connectionLost, "…")).after(.milliseconds(500)))
    let request = try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: .seconds(5)))
    _ = try harness.finish(request)
    // Attempts begin at 0, 1.5 and 4 seconds; the next would at 8.5.
    #expect(harness.transport.requests.map(\.timeouts.total) == [.seconds(5), .seconds(3.5), .seconds(1)])
    #expect(harness.scheduler.now == .seconds(4.5))
  }

  @Test(arguments: [
    ("3", Duration.seconds(3)), ("0", .milliseconds(100)), ("60", .seconds(60)),
    ("Sun, 06 Nov 1994 08:49:47 GMT", .seconds(10)), ("Sunday, 06-Nov-94 08:49:47 GMT", .seconds(10)),
    ("Sun Nov  6 08:49:47 1994", .seconds(10)), ("Sun, 06 Nov 1994 08:49:30 GMT", .milliseconds(100)),
    ("soon", .milliseconds(100)), ("-3", .milliseconds(100)), ("1.5", .milliseconds(100)), ("", .milliseconds(100)),
    ("Sun, 66 Nov 1994 08:49:47 GMT", .milliseconds(100)), ("Sun, 06 Foo 1994 08:49:47 GMT", .milliseconds(100)),
    ("Sun, 06 Nov 1994 08:49:47 CET", .milliseconds(100)), ("3 3", .milliseconds(100)),
  ])
  func `R3: Retry-After is heeded to 60 seconds, and garbage is not`(value: String, delay: Duration) throws {
    let harness = harness()
    var headers = HTTPHeaders()
    try headers.set("Retry-After", to: value)
    harness.transport.expect(.response(status: 503, headers: headers))
    harness.transport.expect(.response())
    let request = try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: nil))
    #expect(try harness.finish(request).get().head.status == 200)
    #expect(harness.scheduler.now == delay)
  }

  @Test(arguments: [
    "61", "3600", "Sun, 06 Nov 1994 08:51:47 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "99999999999999999999",
  ])
  func `R3: a wait of more than 60 seconds is not begun`(value: String) throws {
    let harness = harness()
    var headers = HTTPHeaders()
    try headers.set("Retry-After", to: value)
    harness.transport.always(.response(status: 503, headers: headers))
    let request = try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: nil))
    #expect(try harness.finish(request).get().head.status == 503)
    #expect(harness.transport.requests.count == 1)
    #expect(harness.scheduler.now == .zero)
  }

  @Test func `R3: a date counts from the server's own date`() throws {
    let headers: HTTPHeaders = [
      "Retry-After": "Fri, 01 Mar 2024 00:00:05 GMT", "Date": "Wed, 28 Feb 2024 23:59:58 GMT",
    ]
    #expect(HTTPResponseHead(status: 503, headers: headers).retryAfter(now: Date()) == .seconds(86407))
  }

  @Test func `R3: a wait that is longer than the time left is not begun`() throws {
    let harness = harness()
    harness.transport.always(.response(status: 429, headers: ["Retry-After": "10"]))
    let request = try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: .seconds(5)))
    #expect(try harness.finish(request).get().head.status == 429)
    #expect(harness.scheduler.now == .zero)
  }

  @Test(arguments: [true, false])
  func `R4: a thousand requests that fail add a tenth at most`(atOnce: Bool) throws {
    let harness = harness()
    harness.transport.always(.failure(RequestError(.connectionLost, "…")))
    for _ in 0..<1000 {
      let outcome = try harness.start(MiddlewareHarness.request())
      if !atOnce {
        harness.scheduler.run()
        #expect(outcome.error?.kind == .connectionLost)
      }
    }
    harness.scheduler.run()
    #expect((1050...1100).contains(harness.transport.requests.count))
  }

  @Test func `R4: the budget is the origin's own, and comes back with requests that succeed`() throws {
    let harness = harness(budget: RetryBudget(retriesPerRequest: 0.5, reserve: 2))
    harness.transport.always(.response(status: 503))
    for _ in 0..<3 { _ = try harness.finish(MiddlewareHarness.request()) }
    #expect(harness.transport.requests.count == 5)
    _ = try harness.finish(MiddlewareHarness.request(to: "http://127.0.0.1:2/"))
    #expect(harness.transport.requests.count == 8)
    harness.transport.always(.response())
    for _ in 0..<4 { _ = try harness.finish(MiddlewareHarness.request()) }
    harness.transport.always(.response(status: 503))
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.count == 15)
  }

  @Test func `R4: a reserve that was used up comes back with time, within an hour and no further`() throws {
    let harness = harness()
    harness.transport.always(.response(status: 503))
    for _ in 0..<20 { _ = try harness.finish(MiddlewareHarness.request()) }
    #expect(harness.transport.requests.count == 30)
    harness.scheduler.advance(by: .seconds(361))
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.count == 32)
    harness.scheduler.advance(by: .seconds(86400))
    for _ in 0..<20 { _ = try harness.finish(MiddlewareHarness.request()) }
    #expect(harness.transport.requests.count == 62)
  }

  @Test(arguments: [
    (HTTPMethod.get, Bool?.none, 3), (.head, nil, 3), (.options, nil, 3), (.get, false, 1), (.put, nil, 1),
    (.delete, nil, 1), (.patch, nil, 1), (.post, nil, 1), (.put, true, 3), (.post, true, 3),
  ])
  func `R2: a GET is sent again unless it forbids that, a PUT or a POST only if it says so`(
    method: HTTPMethod, declared: Bool?, count: Int
  ) throws {
    let harness = harness()
    harness.transport.always(.response(status: 503))
    _ = try harness.finish(HTTPRequest(method: method, url: url("http://127.0.0.1:1/"), isReplayable: declared))
    #expect(harness.transport.requests.count == count)
  }

  @Test func `a response over the limit is passed on as it arrives, and is not requested again`() throws {
    let harness = harness(limit: 4)
    let lost = RequestError(.connectionLost, "…")
    harness.transport.always(.json("123456").inPieces(of: 3).thenFailing(lost))
    #expect(throws: RequestError.self) { try harness.finish(MiddlewareHarness.request()).get() }
    #expect(harness.transport.requests.count == 1)
  }

  @Test func `a failure over the limit is delivered whole, and is not requested again`() throws {
    let harness = harness(limit: 4)
    harness.transport.always(.response(status: 503, body: Data("123456789".utf8)).inPieces(of: 3))
    let response = try harness.finish(MiddlewareHarness.request()).get()
    #expect(response.head.status == 503)
    #expect(response.body == Data("123456789".utf8))
    #expect(harness.transport.requests.count == 1)
  }

  @Test(arguments: ["text/event-stream", "multipart/mixed; boundary=x", "Multipart/X-Mixed-Replace"])
  func `a response without an end is passed on as it arrives`(type: String) throws {
    let harness = harness()
    var headers = HTTPHeaders()
    try headers.set("Content-Type", to: type)
    let head = ScriptedResponse.response(headers: headers, body: Data("data: 1\n\n".utf8))
    harness.transport.always(head.thenFailing(RequestError(.connectionLost, "…")))
    #expect(throws: RequestError.self) { try harness.finish(MiddlewareHarness.request()).get() }
    #expect(harness.transport.requests.count == 1)
  }

  @Test func `dispose ends the wait, and sends nothing more`() throws {
    let harness = harness()
    harness.transport.always(.response(status: 503))
    let outcome = try harness.start(MiddlewareHarness.request())
    #expect(harness.scheduler.pendingCount == 1)
    outcome.dispose()
    harness.scheduler.run()
    #expect(harness.scheduler.pendingCount == 0)
    #expect(harness.transport.requests.count == 1)
  }

  /// What a reader has of a response whose body continues.
  private func partsSoFar(of type: String, readsWhole: Bool?, status: Int = 200) throws -> Int {
    var request = try MiddlewareHarness.request()
    request.readsWholeResponse = readsWhole
    var headers = HTTPHeaders()
    try headers.set("Content-Type", to: type)
    let (subject, count) = (PublishSubject<HTTPResponsePart>(), Locked(0))
    let stream = RetryMiddleware(scheduler: TestScheduler()).intercept(request) { _ in subject.asObservable() }
      .subscribe(onNext: { _ in count.withLock { $0 += 1 } })
    subject.onNext(.head(HTTPResponseHead(status: status, headers: headers)))
    subject.onNext(.body(Data("{}\n".utf8)))
    stream.dispose()
    return count.withLock { $0 }
  }

  @Test func `no stream is withheld, and a JSON document only unless the request reads it as it arrives`() throws {
    for type in ["application/x-ndjson", "application/jsonl", "application/json-seq", "text/plain", "image/png"] {
      #expect(try partsSoFar(of: type, readsWhole: nil) == 2)
    }
    for type in ["application/json", "application/graphql-response+json; charset=utf-8"] {
      #expect(try partsSoFar(of: type, readsWhole: nil) == 0)
      #expect(try partsSoFar(of: type, readsWhole: false) == 2)
    }
    #expect(try partsSoFar(of: "image/png", readsWhole: true) == 0)
    #expect(try partsSoFar(of: "text/event-stream", readsWhole: true) == 2)
    #expect(try partsSoFar(of: "application/x-ndjson", readsWhole: nil, status: 503) == 0)
  }

  @Test func `a response that is read whole is requested again if it is cut off`() throws {
    let harness = harness()
    let half = ScriptedResponse.response(headers: ["Content-Type": "image/png"], body: Data("half".utf8))
    harness.transport.expect(half.thenFailing(RequestError(.connectionLost, "…")))
    harness.transport.expect(.response(body: Data("whole".utf8)))
    var request = try MiddlewareHarness.request()
    request.readsWholeResponse = true
    #expect(try harness.finish(request).get().body == Data("whole".utf8))
  }
}
