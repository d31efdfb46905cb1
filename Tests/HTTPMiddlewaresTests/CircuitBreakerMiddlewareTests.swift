import Foundation
import GraphQLClientTesting
import HTTPTestSupport
import Streams
import StreamsTesting
import Synchronization
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite("The circuit breaker")
struct CircuitBreakerMiddlewareTests {
  private let policy = CircuitBreakerPolicy(minimumCalls: 4, openDuration: .seconds(5))
  private let breaker: CircuitBreakerMiddleware
  private let harness: MiddlewareHarness

  init() {
    let scheduler = TestScheduler()
    let breaker = CircuitBreakerMiddleware(policy, scheduler: scheduler)
    self.breaker = breaker
    harness = MiddlewareHarness(scheduler) { _ in [breaker] }
  }

  private func send(_ count: Int, _ answer: ScriptedResponse, to url: String = "http://127.0.0.1:1/") throws
    -> [Outcome]
  {
    harness.transport.always(answer)
    return try (0..<count).map { _ in try harness.start(MiddlewareHarness.request(to: url)) }
  }

  @Test func `a trial that is given up while it begins gives its place back`() throws {
    _ = try send(4, .failure(RequestError(.cannotConnect, "…")))
    harness.scheduler.advance(by: .seconds(5))
    let (bag, go, request) = (DisposeBag(), PublishSubject<Int>(), try MiddlewareHarness.request())
    let watch = breaker.state(of: request.origin).subscribe(onNext: { if $0 == .halfOpen { bag.dispose() } })
    go.asObservable().flatMap { [harness] _ in harness.transport.send(request, through: harness.middlewares) }
      .subscribe().disposed(by: bag)
    go.onNext(0)
    watch.dispose()
    #expect(try send(1, .response()).first?.status == 200)
  }

  @Test func `the breaker opens at its rate, refuses requests unsent, and closes after a trial that succeeds`() throws {
    let states = Mutex<[CircuitState]>([])
    let origin = try MiddlewareHarness.request().origin
    let watch = breaker.state(of: origin).subscribe(onNext: { state in states.withLock { $0.append(state) } })
    _ = try send(2, .response()) + send(2, .response(status: 503))
    #expect(states.withLock { $0 } == [.closed, .open])
    let refused = try send(3, .response())
    #expect(refused.allSatisfy { $0.error?.kind == .circuitOpen && $0.error?.operationName == "q" })
    #expect(harness.transport.requests.count == 4)
    harness.scheduler.advance(by: .seconds(5))
    #expect(try send(1, .response()).first?.status == 200)
    #expect(states.withLock { $0 } == [.closed, .open, .halfOpen, .closed])
    watch.dispose()
  }

  @Test func `a trial that fails opens it again`() throws {
    _ = try send(4, .failure(RequestError(.cannotConnect, "…")))
    harness.scheduler.advance(by: .seconds(5))
    _ = try send(1, .failure(RequestError(.timedOut, "…")))
    #expect(try send(1, .response()).first?.error?.kind == .circuitOpen)
  }

  @Test func `other origins are not concerned`() throws {
    _ = try send(4, .response(status: 500))
    #expect(try send(1, .response(), to: "http://127.0.0.1:2/").first?.status == 200)
  }

  @Test func `an unknown status is an error of the server, too`() throws {
    _ = try send(4, .response(status: 600))
    #expect(try send(1, .response()).first?.error?.kind == .circuitOpen)
  }

  @Test func `statuses below 500 and errors that are the client's open nothing`() throws {
    for answer in [401, 404, 429].map({ ScriptedResponse.response(status: $0) })
      + [RequestError.Kind.tooLarge, .invalidRequest, .cancelled].map({ .failure(RequestError($0, "…")) })
    {
      _ = try send(10, answer)
    }
    #expect(try send(1, .response()).first?.status == 200)
  }

  @Test func `requests that are given up do not count, unless their time was over`() throws {
    for outcome in try send(10, .never) { outcome.dispose() }
    #expect(try send(1, .response()).first?.status == 200)
    let early = try send(10, .never)
    harness.scheduler.advance(by: .milliseconds(59_980))
    for outcome in early { outcome.dispose() }
    #expect(try send(1, .response()).first?.status == 200)
    let late = try send(10, .never)
    // A deadline's timer may be ahead of the circuit's clock by some milliseconds.
    harness.scheduler.advance(by: .milliseconds(59_995))
    for outcome in late { outcome.dispose() }
    #expect(try send(1, .response()).first?.error?.kind == .circuitOpen)
  }

  @Test func `a watcher may send requests, whose changes come after the one that it handles`() throws {
    let states = Mutex<[CircuitState]>([])
    let watch = breaker.state(of: try MiddlewareHarness.request().origin).subscribe(onNext: { [harness] state in
      if state == .open {
        harness.scheduler.advance(by: .seconds(5))
        harness.transport.always(.response())
        _ = try? harness.start(MiddlewareHarness.request())
      }
      states.withLock { $0.append(state) }
    })
    _ = try send(4, .response(status: 500))
    #expect(states.withLock { $0 } == [.closed, .open, .halfOpen, .closed])
    watch.dispose()
  }

  @Test(arguments: [
    EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EAGAIN, EADDRNOTAVAIL,
  ])
  func `a shortage of this process is no failure of the server's`(code: Int32) throws {
    _ = try send(10, .failure(RequestError(.cannotConnect, "…", cause: SystemError(code: code))))
    #expect(try send(1, .response()).first?.status == 200)
    _ = try send(10, .failure(RequestError(.cannotConnect, "…", cause: SystemError(code: ECONNREFUSED))))
    #expect(try send(1, .response()).first?.error?.kind == .circuitOpen)
  }

  @Test func `a stream that has begun closes the circuit, though it does not end`() throws {
    _ = try send(4, .response(status: 503))
    harness.scheduler.advance(by: .seconds(5))
    let subject = PublishSubject<HTTPResponsePart>()
    let request = try MiddlewareHarness.request()
    let stream = breaker.intercept(request) { _ in subject.asObservable() }.subscribe()
    subject.onNext(.head(HTTPResponseHead(status: 200, headers: ["Content-Type": "text/event-stream"])))
    #expect(try send(1, .response()).first?.status == 200)
    stream.dispose()
  }
}
