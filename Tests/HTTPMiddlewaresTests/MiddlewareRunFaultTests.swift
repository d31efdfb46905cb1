import Foundation
import GraphQLClientTesting
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite("Runs of middlewares: what is kept, who is in time, and what comes at once")
struct MiddlewareRunFaultTests {
  private final class Token: Sendable {
    func touch() {}
  }

  private final class Counter: Sendable {
    private let count = Locked(0)
    var value: Int { count.withLock { $0 } }
    @discardableResult func next() -> Int {
      count.withLock { count in
        count += 1
        return count
      }
    }
  }

  private let scheduler = TestScheduler()

  // MARK: - What is kept

  @Test func `a request that has waited in line is released`() throws {
    let limits = ConcurrencyLimitMiddleware(1, scheduler: scheduler)
    let subjects = Locked<[PublishSubject<HTTPResponsePart>]>([])
    let transport = ClosureTransport { _ in
      let subject = PublishSubject<HTTPResponsePart>()
      subjects.withLock { $0.append(subject) }
      return subject.asObservable()
    }
    weak var kept: Token?
    do {
      let token = Token()
      kept = token
      var request = try MiddlewareHarness.request("2")
      request.onProgress = { _ in token.touch() }
      _ = transport.send(try MiddlewareHarness.request("1"), through: [limits]).subscribe()
      _ = transport.send(request, through: [limits]).subscribe()
    }
    for index in 0...1 {
      subjects.withLock { $0[index] }.onCompleted()
      scheduler.run()
    }
    subjects.withLock { $0 = [] }
    #expect(kept == nil)
  }

  @Test func `where a source goes away without an end, nothing is kept`() throws {
    let transport = ClosureTransport { _ in .never() }
    for middleware: any HTTPMiddleware in [
      RetryMiddleware(), RateLimitMiddleware(), CircuitBreakerMiddleware(), ConcurrencyLimitMiddleware(1),
      AuthMiddleware(InMemoryTokenProvider(AccessToken("a")) { _ in .never() }),
    ] {
      weak var kept: Token?
      do {
        let token = Token()
        kept = token
        _ = transport.send(try MiddlewareHarness.request(), through: [middleware]).subscribe(
          onNext: { _ in token.touch() })
      }
      #expect(kept == nil, "\(type(of: middleware))")
    }
  }

  @Test func `a run that is disposed as it begins is released`() throws {
    let request = try MiddlewareHarness.request()
    let subscription = Locked<(any Disposable)?>(nil)
    let gate = PublishSubject<Int>()
    weak var kept: Token?
    do {
      let token = Token()
      kept = token
      let deciders = [RetryMiddleware(scheduler: scheduler).decider]
      let disposable = gate.asObservable().flatMap { _ in
        Observable.handled {
          // As another thread may at this moment.
          subscription.withLock { $0 }?.dispose()
          return MiddlewareRun(deciders, request) { [token] _ in
            token.touch()
            return .never()
          }
        }
      }.take(1).subscribe()
      subscription.withLock { $0 = disposable }
    }
    gate.onNext(1)
    gate.onCompleted()
    subscription.withLock { $0 = nil }
    _ = consume gate
    #expect(kept == nil)
  }

  // MARK: - Who is in time

  @Test func `who sends another request at an error finds the slot free`() throws {
    let middlewares: [any HTTPMiddleware] = [
      RetryMiddleware(scheduler: scheduler), RateLimitMiddleware(scheduler: scheduler),
      ConcurrencyLimitMiddleware(1, queueLimit: 0, scheduler: scheduler),
    ]
    let (sends, subject) = (Counter(), PublishSubject<HTTPResponsePart>())
    let transport = ClosureTransport { _ in sends.next() == 1 ? subject.asObservable() : .never() }
    let errors = Locked<[RequestError.Kind]>([])
    let (first, second) = (try MiddlewareHarness.request("1"), try MiddlewareHarness.request("2"))
    _ = transport.send(first, through: middlewares).subscribe(onError: { _ in
      _ = transport.send(second, through: middlewares).subscribe(
        onError: { error in errors.withLock { $0.append(RequestError(wrapping: error).kind) } })
    })
    subject.onError(RequestError(.badResponse, "What came is no response."))
    #expect(sends.value == 2)
    #expect(errors.withLock { $0 } == [])
  }

  @Test func `a deadline of all attempts knows that one was sent, though an earlier one was not`() throws {
    let sends = Counter()
    let transport = TrackingTransport { request in
      if sends.next() > 1 { #expect(request.context.sendGate?.recordHandover() == true) }
      return .never()
    }
    let error = Locked<RequestError?>(nil)
    _ = transport.send(
      try MiddlewareHarness.request(),
      through: [
        DeadlineMiddleware(.milliseconds(1500), scheduler: scheduler),
        RetryMiddleware(.immediate(attempts: 3), scheduler: scheduler),
        DeadlineMiddleware(.seconds(1), scheduler: scheduler),
      ]
    ).subscribe(onError: { failure in error.withLock { $0 = RequestError(wrapping: failure) } })
    scheduler.run()
    #expect(sends.value == 2)
    #expect(error.withLock { $0?.reached } == .maybe)
  }

  @Test func `a deadline ends a request whose second exchange is slow to start`() throws {
    let provider = InMemoryTokenProvider(AccessToken("a")) { _ in .just(AccessToken("b")) }
    let (sends, first) = (Counter(), PublishSubject<HTTPResponsePart>())
    let (failed, inTime) = (DispatchSemaphore(value: 0), Locked<Bool?>(nil))
    let transport = ClosureTransport { _ in
      if sends.next() == 1 { return first.asObservable() }
      return .create { _ in
        let isInTime = failed.wait(timeout: .now() + 60) == .success
        inTime.withLock { $0 = isInTime }
        return Disposables.create()
      }
    }
    let middlewares: [any HTTPMiddleware] = [DeadlineMiddleware(.milliseconds(200)), AuthMiddleware(provider)]
    _ = transport.send(try MiddlewareHarness.request(), through: middlewares).subscribe(
      onError: { _ in failed.signal() })
    first.onNext(.head(HTTPResponseHead(status: 401)))
    first.onCompleted()
    #expect(inTime.withLock { $0 } == true)
  }

  @Test func `only a deadline that is outermost is given a gate: what is outside could meet it closed`() {
    let (deadline, retry) = (DeadlineMiddleware(), RetryMiddleware())
    #expect(MiddlewareStack([deadline, retry]).asksGateFirst)
    #expect(!MiddlewareStack([retry, deadline]).asksGateFirst)
    #expect(!MiddlewareStack([RedirectMiddleware(), deadline]).asksGateFirst)
    #expect(!MiddlewareStack([]).asksGateFirst)
  }

  // MARK: - What comes at once

  @Test func `one who has enough ends a response that comes during the subscription, also the second one`() throws {
    let provider = InMemoryTokenProvider(AccessToken("a")) { _ in .just(AccessToken("b")) }
    let challenge = HTTPResponseHead(status: 401)
    let refusal = HTTPResponseHead(status: 429, headers: ["Retry-After": "0"])
    for (middleware, head) in [
      (AuthMiddleware(provider), challenge), (RateLimitMiddleware(scheduler: scheduler), refusal),
    ] as [(any HTTPMiddleware, HTTPResponseHead)] {
      let (first, sends, sent) = (PublishSubject<HTTPResponsePart>(), Counter(), Counter())
      let isDisposed = Locked(false)
      let second = Observable<HTTPResponsePart>.create { observer in
        while sent.value < 10_000, !isDisposed.withLock({ $0 }) {
          sent.next()
          observer.onNext(.body(Data(count: 1)))
        }
        return Disposables.create()
      }
      let transport = ClosureTransport { _ in sends.next() == 1 ? first.asObservable() : second }
      _ = transport.send(try MiddlewareHarness.request(), through: [middleware]).take(5).subscribe(
        onCompleted: { isDisposed.withLock { $0 = true } })
      first.onNext(.head(head))
      first.onCompleted()
      // A wait, however short, is on the scheduler.
      #expect(sends.value == (head.status == 429 ? 1 : 2))
      scheduler.run()
      #expect(sent.value == 5)
    }
  }

  // MARK: - What is held back

  @Test func `a response of more bytes than retries hold back is not retried, even if tokens hold it back`() throws {
    let provider = InMemoryTokenProvider(AccessToken("a")) { _ in .never() }
    let challenge = AuthenticationChallenge(isPossible: { _ in true }, isMet: { $0.head.status == 401 })
    let harness = MiddlewareHarness(scheduler) { scheduler in
      [
        RetryMiddleware(holdingBack: 100, scheduler: scheduler),
        AuthMiddleware(provider, challenge: challenge, scheduler: scheduler),
      ]
    }
    harness.transport.always(.json(String(repeating: "1", count: 200), status: 503))
    let response = try harness.finish(MiddlewareHarness.request()).get()
    #expect(response.head.status == 503)
    #expect(harness.transport.requests.count == 1)
  }
}
