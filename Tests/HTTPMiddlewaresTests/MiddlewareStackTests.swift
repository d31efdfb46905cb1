import Foundation
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite("Stacks of middlewares: whose a request is, what is recorded of it, and when it is over")
struct MiddlewareStackTests {
  /// A transport behind middlewares of its own.
  private struct Nested: HTTPTransport {
    let inner: any HTTPTransport
    let middlewares: [any HTTPMiddleware]
    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { inner.send(request, through: middlewares) }
  }

  /// Adds a field whose value changes.
  private final class Tenant: HTTPMiddleware {
    let name = Locked("a")

    private var headers: HTTPHeaders {
      get throws { HTTPHeaders([try HTTPField(name: "X-Tenant", value: name.withLock { $0 })]) }
    }

    var addedCredentials: AddedCredentials { (try? headers).map { .fields($0) } ?? .unknown }

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      .deferred { [self] in
        var request = request
        request.headers = request.headers.adding(defaults: try headers)
        return next(request)
      }
    }
  }

  private let scheduler = TestScheduler()
  private let log = Locked<[String]>([])

  private var entries: [String] { log.withLock { $0 } }

  private func add(_ entry: String) { log.withLock { $0.append(entry) } }

  // MARK: - Whose it is

  enum Way: CaseIterable {
    case alone, behindMiddlewares, behindDeadline, behindRetries
  }

  @Test(arguments: Way.allCases)
  func `S1: a request that waits in a nested stack goes out for no other account`(way: Way) throws {
    let tokens = InMemoryTokenProvider(AccessToken("of a", account: "a")) { _ in .never() }
    let first = PublishSubject<HTTPResponsePart>()
    let transport = ClosureTransport { [log] request in
      log.withLock { log in
        log.append(request.headers["Authorization"] ?? "-")
        return log.count == 1 ? first.asObservable() : .never()
      }
    }
    let nested = Nested(
      inner: transport,
      middlewares: [
        ConcurrencyLimitMiddleware(1, scheduler: scheduler), AuthMiddleware(tokens, scheduler: scheduler),
      ])
    let kinds = Recorded<RequestError.Kind>()
    for name in ["1", "2"] {
      let request = try MiddlewareHarness.request(name)
      let stream =
        switch way {
        case .alone: nested.send(request)
        case .behindMiddlewares: nested.send(request, through: [CircuitBreakerMiddleware(scheduler: scheduler)])
        case .behindDeadline:
          DeadlineMiddleware(.seconds(100), scheduler: scheduler).intercept(request) { nested.send($0) }
        case .behindRetries: RetryMiddleware(scheduler: scheduler).intercept(request) { nested.send($0) }
        }
      _ = stream.subscribe(onError: { kinds.add(RequestError(wrapping: $0).kind) })
    }
    tokens.setToken(AccessToken("of b", account: "b"))
    first.onCompleted()
    scheduler.advance(by: .seconds(1))
    #expect(entries == ["Bearer of a"])
    #expect(kinds.all == [.cancelled])
  }

  /// Sends a request of its own in the place of each that it gets.
  private struct Rewriter: HTTPMiddleware {
    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      do {
        return next(try HTTPRequest(method: request.method, url: request.url, body: request.body))
      } catch {
        return .error(error)
      }
    }
  }

  @Test func `S2: a request that a middleware has made goes out for the account of the one that it got`() throws {
    let tokens = InMemoryTokenProvider(AccessToken("of a", account: "a")) { _ in .never() }
    let first = PublishSubject<HTTPResponsePart>()
    let transport = ClosureTransport { [log] request in
      log.withLock { $0.append(request.headers["Authorization"] ?? "-") }
      return first.asObservable()
    }
    let middlewares: [any HTTPMiddleware] = [
      ConcurrencyLimitMiddleware(1, scheduler: scheduler), Rewriter(), AuthMiddleware(tokens, scheduler: scheduler),
    ]
    let kinds = Recorded<RequestError.Kind>()
    for name in ["1", "2"] {
      _ = transport.send(try MiddlewareHarness.request(name), through: middlewares)
        .subscribe(onError: { kinds.add(RequestError(wrapping: $0).kind) })
    }
    tokens.setToken(AccessToken("of b", account: "b"))
    first.onCompleted()
    scheduler.advance(by: .seconds(1))
    #expect(entries == ["Bearer of a"])
    #expect(kinds.all == [.cancelled])
  }

  @Test func `S1: an account that looks like another one is another one`() throws {
    let tokens = InMemoryTokenProvider(AccessToken("of one", account: "ren\u{e9}")) { _ in .never() }
    let first = PublishSubject<HTTPResponsePart>()
    let transport = ClosureTransport { [log] request in
      log.withLock { $0.append(request.headers["Authorization"] ?? "-") }
      return first.asObservable()
    }
    let middlewares: [any HTTPMiddleware] = [
      ConcurrencyLimitMiddleware(1, scheduler: scheduler), AuthMiddleware(tokens, scheduler: scheduler),
    ]
    for name in ["1", "2"] {
      _ = transport.send(try MiddlewareHarness.request(name), through: middlewares).subscribe(onError: { _ in })
    }
    tokens.setToken(AccessToken("of another", account: "rene\u{301}"))
    first.onCompleted()
    scheduler.advance(by: .seconds(1))
    #expect(entries == ["Bearer of one"])
  }

  @Test func `a cache serves no response of a middleware that adds another field by now`() throws {
    let tenant = Tenant()
    let stack = MiddlewareStack([CacheMiddleware(), tenant])
    let url = try #require(URL(string: "http://127.0.0.1:1/a"))
    let transport = ClosureTransport { request in
      let head = HTTPResponseHead(
        status: 200, headers: ["Cache-Control": "max-age=1000", "Content-Type": "application/json"])
      return .from([.head(head), .body(Data((request.headers["X-Tenant"] ?? "-").utf8))])
    }
    for name in ["a", "a", "b", "b"] {
      tenant.name.withLock { $0 = name }
      _ = stack.send(try HTTPRequest(method: .get, url: url), by: transport).collect(upTo: 100)
        .subscribe(onNext: { [log] response in
          log.withLock { $0.append(String(decoding: response.body, as: UTF8.self)) }
        })
    }
    #expect(entries == ["a", "a", "b", "b"])
  }

  @Test(arguments: [["\u{212B}", "A\u{30A}"], ["\u{e9}", "e\u{301}"]])
  func `S1: a cache serves no response to an account, or an owner by name, that looks like another one`(
    accounts: [String]
  ) throws {
    let tokens = InMemoryTokenProvider { _ in .never() }
    let current = Locked("")
    let caches = [
      CacheMiddleware(owners: .credentials(of: tokens)),
      CacheMiddleware(owners: .named { _ in current.withLock { $0 } }),
    ]
    let url = try #require(URL(string: "http://127.0.0.1:1/a"))
    for cache in caches {
      let stack = MiddlewareStack([cache, AuthMiddleware(tokens, scheduler: scheduler)])
      let transport = ClosureTransport { request in
        let head = HTTPResponseHead(status: 200, headers: ["Cache-Control": "private, max-age=1000"])
        return .from([.head(head), .body(Data((request.headers["Authorization"] ?? "-").utf8))])
      }
      for (number, account) in accounts.enumerated() {
        tokens.setToken(AccessToken("\(number)", account: account))
        current.withLock { $0 = account }
        _ = stack.send(try HTTPRequest(method: .get, url: url), by: transport).collect(upTo: 100)
          .subscribe(onNext: { [log] response in
            log.withLock { $0.append(String(decoding: response.body, as: UTF8.self)) }
          })
      }
    }
    #expect(entries == ["Bearer 0", "Bearer 1", "Bearer 0", "Bearer 1"])
  }

  // MARK: - What is recorded

  @Test(arguments: 0..<8)
  func `S4: each secret is known, however many requests went out before in the same memory`(fieldCount: Int) throws {
    let sent = SentSecrets()
    var base = try MiddlewareHarness.request()
    for number in 0..<fieldCount { try base.headers.append("X-\(number)", "\(number)") }
    for number in 0..<15 { sent.add(texts: ["a secret with number \(number)"]) }
    let tokens = (0..<40).map { "token-\(1000 + $0)-secret" }
    for token in tokens {
      var request = base
      try request.headers.append("Authorization", "Bearer \(token)")
      sent.add(request)
    }
    let redactor = sent.redactor
    #expect(tokens.filter { redactor.redact("about \($0).").contains($0) } == [])
  }

  @Test func `S4: a query's values stay known when the redactor is asked for again, and after a redirect`() throws {
    let sent = SentSecrets()
    let values = (0..<600).map { "user-\(1000 + $0)-id" }
    let query = values.map { "id=\($0)" }.joined(separator: "&")
    sent.add(try MiddlewareHarness.request("a", to: "https://a.example/x?\(query)"))
    for address in ["y", "z", "z?next=another-secret"] {
      #expect(sent.redactor.redact("\(values[0]) \(values[300])") == "<redacted> <redacted>")
      sent.add(try MiddlewareHarness.request("b", to: "https://a.example/\(address)"))
    }
    #expect(sent.redactor.redact("\(values[0]) \(values[300]) another-secret") == "<redacted> <redacted> <redacted>")
  }

  @Test func `S4: secrets that look alike are known, each of them`() throws {
    let values = ["t\u{e9}-secret-key", "te\u{301}-secret-key"]
    for values in [values, values.reversed()] {
      let sent = SentSecrets()
      for value in values { sent.add([HTTPField(received: "X-API-Key", value: value)]) }
      for value in values {
        #expect(Array(sent.redactor.redact("about \(value).").utf8) == Array("about <redacted>.".utf8))
      }
    }
  }

  // MARK: - When it is over

  @Test(arguments: [nil, RequestError(.badResponse, "…")] as [RequestError?])
  func `one whose request has ended finds its slot free`(error: RequestError?) throws {
    let middlewares: [any HTTPMiddleware] = [
      DeadlineMiddleware(.seconds(10), scheduler: scheduler),
      ConcurrencyLimitMiddleware(1, queueLimit: 0, scheduler: scheduler),
    ]
    let first = PublishSubject<HTTPResponsePart>()
    let transport = ClosureTransport { [log] request in
      log.withLock { log in
        log.append(request.operationName ?? "-")
        return log.count == 1 ? first.asObservable() : .never()
      }
    }
    let (one, two) = (try MiddlewareHarness.request("1"), try MiddlewareHarness.request("2"))
    let again: @Sendable () -> Void = { [log] in
      _ = transport.send(two, through: middlewares).subscribe(
        onError: { error in log.withLock { $0.append("\(RequestError(wrapping: error).kind)") } })
    }
    _ = transport.send(one, through: middlewares).subscribe(onError: { _ in again() }, onCompleted: again)
    if let error { first.onError(error) } else { first.onCompleted() }
    #expect(entries.count == 2)
    #expect(!entries.contains("overloaded"))
  }

  /// How a request that never ends fails at a deadline of a second.
  private func failure(
    of transport: some HTTPTransport, through inside: [any HTTPMiddleware] = []
  ) throws -> [RequestError] {
    let errors = Recorded<RequestError>()
    _ = transport.send(
      try MiddlewareHarness.request(), through: [DeadlineMiddleware(.seconds(1), scheduler: scheduler)] + inside
    ).subscribe(onError: { errors.add(RequestError(wrapping: $0)) })
    scheduler.run()
    return errors.all
  }

  /// A transport of a library that no one here knows, which sends what it gets.
  private func unknown(_ response: Observable<HTTPResponsePart>) -> ClosureTransport {
    ClosureTransport { [log] request in
      do { try request.checkFraming() } catch { return .error(error) }
      log.withLock { $0.append("sent") }
      return response
    }
  }

  /// Sends by another transport what fails.
  private struct Fallback: HTTPMiddleware {
    let other: any HTTPTransport

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      next(request).catch { _ in other.send(request) }
    }
  }

  @Test(arguments: [true, false])
  func `R1: a deadline does not say that a request never left which one of two transports has sent`(
    tracksFirst: Bool
  ) throws {
    let tracking = TrackingTransport { _ in
      tracksFirst ? .error(RequestError(.cannotConnect, "There is no server.")) : .never()
    }
    let other = unknown(tracksFirst ? .never() : .error(RequestError(.connectionLost, "It was cut.")))
    let both = ClosureTransport { request in
      tracksFirst
        ? tracking.send(request).catch { _ in other.send(request) }
        : other.send(request).catch { _ in tracking.send(request) }
    }
    let errors = try failure(of: both)
    #expect(entries == ["sent"])
    #expect(errors.map(\.kind) == [.timedOut])
    #expect(errors.map(\.reached) == [.maybe])
  }

  @Test func `R1: a deadline knows what a middleware has sent by another transport`() throws {
    let tracking = TrackingTransport { _ in .error(RequestError(.cannotConnect, "There is no server.")) }
    let errors = try failure(of: tracking, through: [Fallback(other: unknown(.never()))])
    #expect(entries == ["sent"])
    #expect(errors.map(\.reached) == [.maybe])
  }

  /// Sends a request of its own in the place of each that it gets, by a transport of its own.
  private struct Elsewhere: HTTPMiddleware {
    let other: any HTTPTransport

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      do {
        return other.send(try HTTPRequest(method: request.method, url: request.url, body: request.body))
      } catch {
        return .error(error)
      }
    }
  }

  @Test func `R1: a deadline does not say that a request never left which a middleware may have sent by itself`() throws
  {
    let tracking = TrackingTransport { _ in .never() }
    let errors = try failure(of: tracking, through: [Elsewhere(other: unknown(.never()))])
    #expect(entries == ["sent"])
    #expect(errors.map(\.reached) == [.maybe])
  }

  @Test func `R1: a deadline that stands alone does not say that a request never left which its caller sends`()
    throws
  {
    let errors = Recorded<RequestError>()
    let middleware = DeadlineMiddleware(.seconds(1), scheduler: scheduler)
    _ = middleware.intercept(try MiddlewareHarness.request()) { [log] _ in
      log.withLock { $0.append("sent") }
      return .never()
    }.subscribe(onError: { errors.add(RequestError(wrapping: $0)) })
    scheduler.run()
    #expect(entries == ["sent"])
    #expect(errors.all.map(\.reached) == [.maybe])
  }

  @Test func `a deadline knows that a request never left, however often it was handed over`() throws {
    let tracking = TrackingTransport { [log] _ in
      let count = log.withLock { log in
        log.append("waits for a connection")
        return log.count
      }
      return count == 1 ? .error(RequestError(.cannotConnect, "There is no server.")) : .never()
    }
    let errors = try failure(
      of: tracking,
      through: [
        LoggingMiddleware { _ in }, RetryMiddleware(.immediate(attempts: 3), scheduler: scheduler),
        DefaultHeadersMiddleware([:]),
      ])
    #expect(entries.count == 2)
    #expect(errors.map(\.kind) == [.timedOut])
    #expect(errors.map(\.reached) == [.never])
  }

  @Test func `a deadline knows that a request never left the line in which it waited`() throws {
    let limit = ConcurrencyLimitMiddleware(1, scheduler: scheduler)
    let (transport, first) = (unknown(.never()), Recorded<HTTPResponsePart>())
    let subscription = transport.send(try MiddlewareHarness.request(), through: [limit])
      .subscribe(onNext: { first.add($0) })
    defer { subscription.dispose() }
    let errors = try failure(of: transport, through: [limit])
    #expect(entries == ["sent"])
    #expect(errors.map(\.reached) == [.never])
  }

  @Test(arguments: [true, false])
  func `a request whose deadline has closed the gate is handed to no transport`(isTracked: Bool) throws {
    var request = try MiddlewareHarness.request()
    let gate = SendGate.Shared()
    request.context.sendGate = gate
    let isCancelled = gate.cancel()
    #expect(isCancelled)
    let respond: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart> = { [log] _ in
      log.withLock { $0.append("sent") }
      return .never()
    }
    let transport: any HTTPTransport =
      if isTracked { TrackingTransport(respond: respond) } else { ClosureTransport(respond: respond) }
    let errors = Recorded<RequestError>()
    _ = transport.send(request, through: [ConcurrencyLimitMiddleware(1, scheduler: scheduler)])
      .subscribe(onError: { errors.add(RequestError(wrapping: $0)) })
    #expect(entries == [])
    #expect(errors.all.map(\.kind) == [.timedOut])
    #expect(errors.all.map(\.reached) == [.never])
  }

  @Test func `a deadline closes no gate of a client whose first deadline does not apply`() throws {
    var request = try MiddlewareHarness.request()
    let gate = SendGate.Shared()
    request.context.sendGate = gate
    request.timeouts.total = nil
    let transport = TrackingTransport { _ in .never() }
    let errors = Recorded<RequestError>()
    _ = transport.send(
      request,
      through: [
        DeadlineMiddleware(scheduler: scheduler), DeadlineMiddleware(.milliseconds(100), scheduler: scheduler),
      ]
    ).subscribe(onError: { errors.add(RequestError(wrapping: $0)) })
    scheduler.run()
    #expect(errors.all.map(\.reached) == [.never])
    let isOpen = gate.recordHandover()
    #expect(isOpen)
  }
}

/// What was called back with.
private final class Recorded<Value: Sendable>: Sendable {
  private let values = Locked<[Value]>([])
  var all: [Value] { values.withLock { $0 } }
  func add(_ value: Value) { values.withLock { $0.append(value) } }
}
