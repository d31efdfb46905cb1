public import HTTPClientCore
public import Streams
public import SystemBase

/// Keeps to the limits that servers set on requests: waits until the next one is allowed, or fails with an error that
/// says when it is.
///
///     let limits = RateLimitMiddleware(owners: .credentials(of: tokens))
///     limits.limit(for: request).remaining     // what is left
///
/// Each response of a server tells what is left (``RateLimit``), and `Retry-After` with 429 or 503 how long to stay away.
/// All requests of one owner to one origin share that knowledge, see ``RequestOwners``: while nothing is left, none is
/// sent. If the server names a resource that a limit is for (``RateLimit/resource``), it holds back only requests with
/// the method, path and operation of one whose response named it. A request waits as long as it has to, up to `longestWait` and within its total deadline; otherwise it fails at
/// once with `rateLimited`, and `RequestError.retryAfter` says how long the server is to be left alone.
///
/// A request that is refused, by a response that a ``RateLimitSignal`` recognises, was not carried out. If it is
/// `HTTPRequest.isReplayable`, it is sent again after the wait, at most twice, within the budget and the number of
/// attempts of a ``RetryMiddleware`` outside this one; otherwise, and if it does not help, it fails with `rateLimited`, status and all. After a refusal without a time, it waits for 1 second,
/// then 2, and so on up to 60, and others are not held back. Those who wait for the same moment continue within a tenth of the wait after it, at most a
/// second, so that they do not all come at once.
///
/// Place it inside a ``RetryMiddleware``, which then sees no refusals, and outside a ``ConcurrencyLimitMiddleware``, so
/// that a wait takes up no slot. Calls back on the exchanges' threads; after a wait, on the scheduler's. It keeps at most
/// 1,024 origins and owners; those that were not used for longest are forgotten.
public struct RateLimitMiddleware: HTTPMiddleware {
  fileprivate struct Key: Hashable {
    let origin: HTTPOrigin
    let owner: RequestOwners.Owner
  }

  /// What is known of the limits of one origin and owner.
  fileprivate typealias Shared = Locked<RateLimits>

  package final class Decider: Sendable {
    let signal: RateLimitSignal
    let longestWait: Duration
    let budget: RetryBudget
    let scheduler: any Scheduler
    let now: @Sendable () -> Date
    let random: @Sendable () -> Double
    let owners: RequestOwners
    fileprivate let states: RecentTable<Key, Shared>

    fileprivate init(
      _ signal: RateLimitSignal, _ longestWait: Duration, _ budget: RetryBudget, _ scheduler: any Scheduler,
      _ now: @escaping @Sendable () -> Date, _ random: @escaping @Sendable () -> Double, _ owners: RequestOwners,
      _ states: RecentTable<Key, Shared>
    ) {
      self.signal = signal
      self.longestWait = longestWait
      self.budget = budget
      self.scheduler = scheduler
      self.now = now
      self.random = random
      self.owners = owners
      self.states = states
    }

    fileprivate func state(for request: HTTPRequest) -> Shared {
      states.withValue(of: Key(origin: request.origin, owner: owners.owner(request))) { $0 }
    }
  }

  package let decider: Decider

  /// Takes how to recognise a refusal, whose a request is, how long a request waits at most, the budget for those that
  /// are sent again, the scheduler that times the waits, the wall clock, which some header fields refer to, and a source
  /// of random numbers from 0 to 1.
  public init(
    _ signal: RateLimitSignal = .http, owners: RequestOwners = .credentials(), longestWait: Duration = .seconds(60),
    budget: RetryBudget = RetryBudget(), scheduler: some Scheduler = ConcurrentScheduler(),
    now: @escaping @Sendable () -> Date = { Date() },
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) {
    decider = Decider(
      signal, longestWait, budget, scheduler, now, random, owners, RecentTable { Locked(RateLimits()) })
  }

  private init(_ decider: Decider) { self.decider = decider }

  /// One with the same knowledge in which no request waits: each fails at once where it would.
  package var withoutWaiting: RateLimitMiddleware {
    RateLimitMiddleware(
      Decider(
        decider.signal, .zero, decider.budget, decider.scheduler, decider.now, decider.random, decider.owners,
        decider.states))
  }

  /// What is left of the limit that a request falls under, as far as it is known.
  public func limit(for request: HTTPRequest) -> RateLimit {
    let now = decider.scheduler.now
    return decider.state(for: request).withLock { $0.view(of: request, at: now) }
  }

  /// Passes the request on when the server's limit allows it.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    deciding(on: request, next: next)
  }
}

extension RateLimitMiddleware: OwnedMiddleware {
  package func authenticated(by authentication: AuthMiddleware) -> RateLimitMiddleware {
    RateLimitMiddleware(
      Decider(
        decider.signal, decider.longestWait, decider.budget, decider.scheduler, decider.now, decider.random,
        decider.owners.with(tokens: authentication.tokens), decider.states))
  }
}

extension RateLimitMiddleware: DecidingMiddleware {}

extension RateLimitMiddleware.Decider: RequestDecider {
  package func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) -> (any RequestPassage)? {
    budget.count(request, place.entry)
    return LimitedRequest(request, state(for: request), start: place.time(by: scheduler), by: self)
  }
}

/// A request on its way through the middleware.
///
/// `@unchecked Sendable`: what changes is touched only by calls that come one at a time.
private final class LimitedRequest: RequestPassage, @unchecked Sendable {
  /// How often a request is sent, the first time included.
  private static let attempts = 3

  private let request: HTTPRequest
  private let state: RateLimitMiddleware.Shared
  private let decider: RateLimitMiddleware.Decider
  private let start: Duration
  @exclusivity(unchecked) private var attempts = 0

  init(
    _ request: HTTPRequest, _ state: RateLimitMiddleware.Shared, start: Duration,
    by decider: RateLimitMiddleware.Decider
  ) {
    self.request = request
    self.state = state
    self.start = start
    self.decider = decider
  }

  func depart() throws -> Departure {
    attempts += 1
    let wait = wait(at: start)
    return wait == .zero ? .unchanged : .later(try sent(after: wait))
  }

  /// How long the request has to wait; if it has not to, it counts as sent.
  private func wait(at time: Duration) -> Duration {
    state.withLock { state in
      let wait = state.wait(of: request, at: time)
      if wait == .zero { state.recordSent(request) }
      return wait
    }
  }

  /// The request, when the limit allows it.
  private func sent(after wait: Duration) throws -> Observable<HTTPRequest> {
    guard let delay = delay(wait) else { throw failure(after: wait, status: nil) }
    return decider.scheduler.pause(delay) { [self] in
      request.context.observation?.report(.dequeued(after: delay))
      return try sent()
    }
  }

  private func sent() throws -> Observable<HTTPRequest> {
    let time = decider.scheduler.now
    let wait = wait(at: time)
    guard wait == .zero else { return try sent(after: wait) }
    var sent = request
    sent.timeouts = request.timeouts.after(time - start)
    return .just(sent)
  }

  func receive(_ head: HTTPResponseHead) -> Int? {
    if decider.signal.isPossible(head) { return 64 << 10 }
    record(head)
    return nil
  }

  func decide(on response: HTTPResponse, isWhole: Bool) throws -> Decision {
    guard let refusal = decider.signal.refusal(response, decider.now) else {
      record(response.head)
      return .pass
    }
    let time = decider.scheduler.now
    let wait = state.withLock {
      $0.refuse(refusal.limit, retryAfter: refusal.retryAfter, to: request, at: time)
    }
    var failure = failure(after: wait, status: response.head.status)
    if refusal.mayFollowEffects { failure.reached = .maybe }
    guard attempts < Self.attempts, request.mayBeSentAgain(after: .maybe), request.entry.mayBeRepeated,
      let delay = delay(wait), decider.budget.withdraw(for: request.origin, at: time)
    else { throw failure }
    request.context.observation?.report(.retrying(after: delay, reason: failure))
    attempts += 1
    return .replace(decider.scheduler.pause(delay) { [self] in try sent().map { $0 } })
  }

  private func record(_ head: HTTPResponseHead) {
    let reported = RateLimit(head.headers, now: decider.now())
    let time = decider.scheduler.now
    let retryAfter = head.status == 503 ? head.retryAfter(now: decider.now()) : nil
    state.withLock { $0.record(reported, retryAfter: retryAfter, to: request, at: time) }
  }

  /// The wait with some time on top; `nil` if the request cannot wait for so long.
  private func delay(_ wait: Duration) -> Duration? {
    guard wait <= decider.longestWait else { return nil }
    let left = request.timeouts.total.map { $0 - (decider.scheduler.now - start) }
    if let left, wait >= left { return nil }
    let spread = min(wait / 10, .seconds(1)) * decider.random()
    return left.map { min(wait + spread, $0) } ?? wait + spread
  }

  /// The error that says until when; without a status, the request was not sent.
  private func failure(after wait: Duration, status: Int?) -> RequestError {
    let (whole, rest) = wait.components
    let seconds = rest > 0 ? whole + 1 : whole
    let until = decider.now().addingTimeInterval(Double(seconds)).formatted(.iso8601)
    var error = RequestError(
      .rateLimited,
      "'\(request.origin)' takes no further request for \(seconds) s, until \(until): send fewer, or try again then.",
      operationName: request.operationName, status: status, reached: status == nil ? .never : .rejected
    )
    error.retryAfter = wait
    return error
  }
}

/// How to recognise a response by which a server refuses a request for its rate.
///
/// The module GraphQLClient adds `graphQL`, which also recognises errors with status 200.
public struct RateLimitSignal: Sendable {
  /// A refusal, and what it says.
  public struct Refusal: Hashable, Sendable {
    /// How long the server asks to wait, if it says so.
    public var retryAfter: Duration?

    /// What is left of its limit, if it says so.
    public var limit: RateLimit?

    /// Whether the request may have been carried out before.
    package var mayFollowEffects = false

    /// Makes a refusal.
    public init(retryAfter: Duration? = nil, limit: RateLimit? = nil) {
      self.retryAfter = retryAfter
      self.limit = limit
    }
  }

  /// Whether a response with this head may be a refusal, so that it has to be held back and examined.
  let isPossible: @Sendable (HTTPResponseHead) -> Bool

  /// What a response says if it is a refusal.
  let refusal: @Sendable (HTTPResponse, _ now: () -> Date) -> Refusal?

  /// Takes two closures: whether a response with this head may be a refusal, and what it says if it is one. A response
  /// that may be one is held back until it is complete; if its body exceeds 64 KiB, the second closure sees only what has
  /// arrived by then. `now` is the wall clock.
  public init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool,
    refusal: @escaping @Sendable (_ response: HTTPResponse, _ now: Date) -> Refusal?
  ) {
    self.init(isPossible: isPossible, refusalAt: { refusal($0, $1()) })
  }

  /// Takes which heads may mean a refusal, and a closure that finds it in the response; this one reads the wall clock
  /// where a time depends on it.
  package init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool,
    refusalAt refusal: @escaping @Sendable (_ response: HTTPResponse, _ now: () -> Date) -> Refusal?
  ) {
    self.isPossible = isPossible
    self.refusal = refusal
  }

  /// Status 429 (RFC 6585, section 4); 403 as GitHub means it: with `Retry-After`, with nothing remaining, or with a
  /// body that speaks of a secondary rate limit, after which a minute is to pass; and 401 with `Retry-After`, which a new
  /// token has not prevented.
  public static let http = RateLimitSignal {
    $0.status == 429 || $0.status == 403 || $0.status == 401 && $0.headers.contains("Retry-After")
  } refusalAt: { response, now in
    let head = response.head
    if head.status == 401 { return head.retryAfter(now: now()).map { Refusal(retryAfter: $0) } }
    let refusal = Refusal(retryAfter: head.retryAfter(now: now()), limit: RateLimit(head.headers, now: now()))
    if head.status == 429 || refusal.retryAfter != nil || refusal.limit?.remaining == 0 { return refusal }
    let isSecondary = response.body.holds("secondary rate limit")
    return isSecondary ? Refusal(retryAfter: .seconds(60), limit: refusal.limit) : nil
  }

  /// Either signal.
  public func or(_ other: RateLimitSignal) -> RateLimitSignal {
    RateLimitSignal {
      isPossible($0) || other.isPossible($0)
    } refusalAt: { response, now in
      (isPossible(response.head) ? refusal(response, now) : nil)
        ?? (other.isPossible(response.head) ? other.refusal(response, now) : nil)
    }
  }
}
