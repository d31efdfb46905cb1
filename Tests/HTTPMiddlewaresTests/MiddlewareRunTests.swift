import Foundation
import GraphQLClientTesting
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite("Middlewares that decide, in one run")
struct MiddlewareRunTests {
  /// What happened, in order.
  private final class Log: Sendable {
    private let lines = Locked<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func take() -> [String] { lines.withLock { exchange(&$0, with: []) } }
  }

  /// A middleware that says what it is asked, and decides by closures.
  private struct Decider: DecidingMiddleware {
    let name: String
    let log: Log
    var limit: Int?
    var departs: @Sendable (HTTPRequest) throws -> Departure = { .now($0) }
    var onResponse: @Sendable (HTTPResponse, Bool) throws -> Decision = { _, _ in .pass }
    var onError: @Sendable (any Error) throws -> Decision = { _ in .pass }
    var onPassage: @Sendable (MiddlewareRun.Place) -> Void = { _ in }

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      deciding(on: request, next: next)
    }

    var decider: Opening { Opening(settings: self) }
  }

  private final class Opening: RequestDecider {
    let settings: Decider

    init(settings: Decider) { self.settings = settings }

    func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) -> (any RequestPassage)? {
      settings.onPassage(place)
      return Passage(request: request, settings: settings)
    }
  }

  private final class Passage: RequestPassage {
    let request: HTTPRequest
    let settings: Decider

    init(request: HTTPRequest, settings: Decider) {
      self.request = request
      self.settings = settings
    }

    func depart() throws -> Departure {
      settings.log.add("\(settings.name) departs")
      return try settings.departs(request)
    }

    func receive(_ head: HTTPResponseHead) -> Int? {
      settings.log.add("\(settings.name) receives \(head.status)")
      return settings.limit
    }

    func decide(on response: HTTPResponse, isWhole: Bool) throws -> Decision {
      settings.log.add("\(settings.name) has \(response.body.count) bytes\(isWhole ? "" : " so far")")
      return try settings.onResponse(response, isWhole)
    }

    func decide(on error: any Error) throws -> Decision {
      settings.log.add("\(settings.name) has \(RequestError(wrapping: error).kind)")
      return try settings.onError(error)
    }

    func complete() { settings.log.add("\(settings.name) completes") }

    func leave() { settings.log.add("\(settings.name) leaves") }
  }

  private let log = Log()
  private let scheduler = TestScheduler()

  private func harness(_ middlewares: [any HTTPMiddleware]) -> MiddlewareHarness {
    MiddlewareHarness(scheduler) { _ in middlewares }
  }

  private func response(_ status: Int = 200, _ body: String...) -> Observable<HTTPResponsePart> {
    .from([.head(HTTPResponseHead(status: status))] + body.map { .body(Data($0.utf8)) })
  }

  /// Sends one request through middlewares to sources by their numbers, and adds its end to the log.
  private func run(
    _ middlewares: [any DecidingMiddleware], _ sources: @escaping @Sendable (Int) -> Observable<HTTPResponsePart>
  ) throws -> any Disposable {
    let (request, count, log) = (try MiddlewareHarness.request(), Counter(), log)
    let stream = Observable.handled {
      MiddlewareRun(middlewares.map { $0.decider }, request) { _ in
        count.increment()
        return sources(count.value)
      }
    }
    return stream.collect(upTo: 1000).subscribe(
      onNext: { response in log.add("\(response.head.status) \(String(decoding: response.body, as: UTF8.self))") },
      onError: { error in log.add("\(RequestError(wrapping: error).kind)") })
  }

  private final class Counter: Sendable {
    private let count = Locked(0)
    var value: Int { count.withLock { $0 } }
    func increment() { count.withLock { $0 += 1 } }
  }

  @Test func `a response passes from the inside out, and is held back once`() throws {
    let outer = Decider(name: "outer", log: log, limit: 100)
    let inner = Decider(name: "inner", log: log, limit: 10)
    let watcher = Decider(name: "watcher", log: log)
    let parts = response(200, "ab", "cd")
    _ = try run([outer, inner, watcher]) { _ in parts }
    #expect(
      log.take() == [
        "outer departs", "inner departs", "watcher departs", "watcher receives 200", "inner receives 200",
        "watcher completes", "inner has 4 bytes", "inner completes", "outer receives 200", "outer has 4 bytes",
        "outer completes", "watcher leaves", "inner leaves", "outer leaves", "200 abcd",
      ])
  }

  @Test func `a response that is too long for one is held back for the next, and then streamed`() throws {
    let outer = Decider(name: "outer", log: log, limit: 5)
    let inner = Decider(name: "inner", log: log, limit: 2)
    let parts = response(200, "abc", "def", "g")
    _ = try run([outer, inner]) { _ in parts }
    #expect(
      log.take().dropFirst(2) == [
        "inner receives 200", "inner has 3 bytes so far", "outer receives 200", "outer has 6 bytes so far",
        "inner completes", "outer completes", "inner leaves", "outer leaves", "200 abcdefg",
      ])
  }

  @Test func `where one replaces a response, those inside leave before they are asked again`() throws {
    let outer = Decider(name: "outer", log: log, limit: 100)
    let request = try MiddlewareHarness.request()
    let middle = Decider(
      name: "middle", log: log, limit: 100,
      onResponse: { response, _ in response.head.status == 500 ? .replace(.just(request)) : .pass })
    let inner = Decider(name: "inner", log: log)
    let (bad, good) = (response(500, "x"), response(200, "y"))
    _ = try run([outer, middle, inner]) { $0 == 1 ? bad : good }
    #expect(
      log.take() == [
        "outer departs", "middle departs", "inner departs", "inner receives 500", "middle receives 500",
        "inner completes", "middle has 1 bytes", "inner leaves", "inner departs", "inner receives 200",
        "middle receives 200", "inner completes", "middle has 1 bytes", "middle completes", "outer receives 200",
        "outer has 1 bytes", "outer completes", "inner leaves", "middle leaves", "outer leaves", "200 y",
      ])
  }

  @Test func `a response passes after all where nothing better comes, and fails where part of it is gone`() throws {
    for (body, expected) in [("ab", "200 ab"), ("abcdef", "HTTP status")] {
      let asked = Counter()
      var decider = Decider(name: "decider", log: log, limit: 3)
      decider.onResponse = { _, _ in
        asked.increment()
        return asked.value == 1 ? .replace(.just(nil)) : .pass
      }
      let parts = response(200, body)
      _ = try run([decider]) { _ in parts }
      #expect(log.take().contains(expected))
    }
  }

  @Test func `an error of one inside is decided about outside of it`() throws {
    let request = try MiddlewareHarness.request()
    let asked = Counter()
    var outer = Decider(name: "outer", log: log)
    outer.onError = { _ in
      asked.increment()
      return asked.value == 1 ? .replace(.just(request)) : .pass
    }
    var inner = Decider(name: "inner", log: log, limit: 10)
    inner.onResponse = { _, _ in throw RequestError(.rateLimited, "Too many.") }
    let parts = response(200, "a")
    _ = try run([outer, inner]) { _ in parts }
    let lines = log.take()
    #expect(lines.filter { $0 == "outer has rate limited" }.count == 2)
    #expect(!lines.contains("inner has rate limited"))
    #expect(lines.suffix(3) == ["inner leaves", "outer leaves", "rate limited"])
  }

  @Test func `an interruption fails what is inside of its place, and none that has left`() throws {
    let request = try MiddlewareHarness.request()
    let places = Locked<[MiddlewareRun.Place]>([])
    let outer = Decider(
      name: "outer", log: log,
      onError: { RequestError(wrapping: $0).kind == .timedOut ? .replace(.just(request)) : .pass })
    let timed = Decider(
      name: "timed", log: log, onPassage: { place in places.withLock { $0.append(place) } })
    _ = try run([outer, timed]) { $0 <= 2 ? .never() : .just(.head(HTTPResponseHead(status: 204))) }
    _ = log.take()
    let interrupt = { (index: Int) in
      places.withLock { $0[index] }.interrupt { RequestError(.timedOut, "Too late.") }
    }
    interrupt(0)
    #expect(log.take() == ["outer has timed out", "timed leaves", "timed departs"])
    interrupt(0)
    #expect(log.take().isEmpty)
    interrupt(1)
    #expect(log.take().contains("204 "))
    interrupt(2)
    #expect(log.take().isEmpty)
  }

  @Test func `of two interruptions between sources, that of the outer place counts`() throws {
    let request = try MiddlewareHarness.request()
    let places = Locked<[MiddlewareRun.Place]>([])
    let keep: @Sendable (MiddlewareRun.Place) -> Void = { place in places.withLock { $0.append(place) } }
    let outer = Decider(name: "outer", log: log, onPassage: keep)
    let retry = Decider(name: "retry", log: log, onError: { _ in .replace(.just(request)) })
    let timed = Decider(name: "timed", log: log, onPassage: keep)
    let auth = Decider(name: "auth", log: log, limit: 100, onResponse: { _, _ in .replace(.just(request)) })
    _ = try run([outer, retry, timed, auth]) { number in
      if number > 1 { return .never() }
      return .create { observer in
        observer.onNext(.head(HTTPResponseHead(status: 401)))
        observer.onCompleted()
        // Both come before this source has been started.
        for place in places.withLock({ $0 }) { place.interrupt { RequestError(.timedOut, "Too late.") } }
        return Disposables.create()
      }
    }
    let lines = log.take()
    #expect(lines.contains("timed out"))
    #expect(lines.last == "outer leaves")
  }

  @Test func `a request that is disposed while it departs goes no further, and all leave`() throws {
    let subscription = Locked<(any Disposable)?>(nil)
    let first = Decider(name: "first", log: log)
    let gate = PublishSubject<HTTPRequest>()
    let second = Decider(name: "second", log: log, departs: { _ in .later(gate.asObservable()) })
    let third = Decider(
      name: "third", log: log,
      departs: { request in
        subscription.withLock { $0 }?.dispose()
        return .now(request)
      })
    let fourth = Decider(name: "fourth", log: log)
    let sends = Counter()
    let disposable = try run([first, second, third, fourth]) { _ in
      sends.increment()
      return .never()
    }
    subscription.withLock { $0 = disposable }
    gate.onNext(try MiddlewareHarness.request())
    #expect(
      log.take() == [
        "first departs", "second departs", "third departs", "third leaves", "second leaves", "first leaves",
        "fourth leaves",
      ])
    #expect(sends.value == 0)
  }

  @Test func `a deadline inside of retries ends one attempt, and has no say in the pause after it`() throws {
    let harness = MiddlewareHarness(scheduler) { scheduler in
      [
        RetryMiddleware(
          RetryPolicy { attempt, _ in attempt < 3 ? .seconds(10) : nil }, scheduler: scheduler),
        DeadlineMiddleware(.seconds(1), scheduler: scheduler),
      ]
    }
    harness.transport.always(.never)
    let outcome = harness.start(try MiddlewareHarness.request())
    scheduler.advance(by: .milliseconds(1500))
    #expect(harness.transport.requests.count == 1)
    scheduler.run()
    #expect(harness.transport.requests.count == 3)
    #expect(outcome.error?.kind == .timedOut)
    #expect(scheduler.now == .seconds(23))
  }
}
