public import HTTPClientCore
public import Streams
public import SystemBase

/// Sends a request again after a transient failure.
///
///     RetryMiddleware(.exponential(attempts: 4, initial: .milliseconds(50)))
///
/// Only a request that is `HTTPRequest.isReplayable` is sent again (a GraphQL mutation only if it was declared
/// idempotent), and only after a failure that is `RequestError.isTransient`. The policy sees a failure of status as
/// an error of the kind `httpStatus`, and may narrow this further. A retry needs a place in the budget, and must begin
/// before the request's total deadline; each attempt gets what is left of it. What the middlewares inside this one send
/// again counts as an attempt, too. `Retry-After` is obeyed: if it asks for more than 60 seconds, or for more than is
/// left, there is no further attempt. If no attempt succeeds, the last attempt's response or error is given, just as it
/// would be without this middleware.
///
/// A response that may be replaced by a better one is held back until it is complete: one with a status that is
/// retried, and, since an attempt may fail in the middle of its body, one that is of use only as a whole. That is so if
/// the request says so by `HTTPRequest.readsWholeResponse`, as those of an `APIClient` do; unless a request says
/// anything, of JSON documents. All others, such as lines of JSON and what is downloaded, are passed on as they come,
/// and are then not retried, as is a response of more than `holdingBack` bytes, an event stream or a multipart
/// response, whatever its status.
///
/// Calls back on the threads of the attempts; the scheduler times the pauses.
public struct RetryMiddleware: HTTPMiddleware {
  package final class Decider: Sendable {
    let policy: RetryPolicy
    let budget: RetryBudget
    let limit: Int
    let scheduler: any Scheduler
    let now: @Sendable () -> Date

    init(
      _ policy: RetryPolicy, _ budget: RetryBudget, _ limit: Int, _ scheduler: any Scheduler,
      _ now: @escaping @Sendable () -> Date
    ) {
      self.policy = policy
      self.budget = budget
      self.limit = limit
      self.scheduler = scheduler
      self.now = now
    }
  }

  package let decider: Decider

  /// Takes the retry policy, the budget, how many bytes of a response to hold back, the scheduler that times the
  /// pauses, and the wall clock, which `Retry-After` needs if it is a date.
  ///
  /// By default there are two retries, after at most 100 and 200 milliseconds, with full jitter.
  public init(
    _ policy: RetryPolicy = .exponential(attempts: 3, initial: .milliseconds(100), maximum: .seconds(10)),
    budget: RetryBudget = RetryBudget(), holdingBack limit: Int = 1 << 20,
    scheduler: some Scheduler = ConcurrentScheduler(), now: @escaping @Sendable () -> Date = { Date() }
  ) {
    decider = Decider(policy, budget, limit, scheduler, now)
  }

  /// Passes the request on, and again after a transient failure.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    deciding(on: request, next: next)
  }
}

extension RetryMiddleware: DecidingMiddleware {}

extension RetryMiddleware.Decider: RequestDecider {
  package func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) -> (any RequestPassage)? {
    let entry = place.entry
    budget.count(request, entry)
    // What came back may be held for a retry only if there can be one.
    guard request.mayBeSentAgain(after: .maybe) else { return nil }
    entry.limitAttempts(to: policy.attempts ?? .max)
    return RetriedRequest(request, start: place.time(by: scheduler), by: self)
  }
}

/// A request on its way through the middleware.
///
/// `@unchecked Sendable`: what changes is touched by calls that come one at a time, and at the end of a pause, in which
/// nothing that could be decided about is inside.
private final class RetriedRequest: RequestPassage, @unchecked Sendable {
  /// The longest `Retry-After` that is waited for.
  private static let longestWait = Duration.seconds(60)

  private let request: HTTPRequest
  private let decider: RetryMiddleware.Decider
  private let start: Duration
  @exclusivity(unchecked) private var attempts = 1
  /// Whether part of a response has been passed on, which no other one can replace then.
  @exclusivity(unchecked) private var hasPassedOn = false

  init(_ request: HTTPRequest, start: Duration, by decider: RetryMiddleware.Decider) {
    self.request = request
    self.start = start
    self.decider = decider
  }

  func depart() -> Departure { .unchanged }

  func receive(_ head: HTTPResponseHead) -> Int? {
    // A download may take longer than any response that is waited for.
    if !request.isReadAsItArrives(head), head.isReplaceable(readsWholeResponse: request.readsWholeResponse) {
      return decider.limit
    }
    hasPassedOn = true
    return nil
  }

  func decide(on response: HTTPResponse, isWhole: Bool) -> Decision {
    if isWhole, RequestError.isTransient(status: response.head.status), let delay = delay(after: response.head) {
      return again(after: delay)
    }
    hasPassedOn = true
    return .pass
  }

  func decide(on error: any Error) -> Decision {
    guard !hasPassedOn, let delay = delay(after: attempts, RequestError(wrapping: error), asked: .zero) else {
      return .pass
    }
    return again(after: delay)
  }

  private func again(after delay: Duration) -> Decision {
    let next: @Sendable () -> Observable<HTTPRequest?> = { [self] in
      attempts += 1
      var request = request
      request.timeouts = request.timeouts.after(decider.scheduler.now - start)
      return .just(request)
    }
    return .replace(delay > .zero ? decider.scheduler.pause(delay, next) : .deferred(next))
  }

  private func delay(after head: HTTPResponseHead) -> Duration? {
    let failure = RequestError(.httpStatus, "The server responded with status \(head.status).", status: head.status)
    let asked = head.retryAfter(now: decider.now()) ?? .zero
    return delay(after: attempts, failure, asked: asked)
  }

  /// How long to wait before the next attempt; `nil` for no further one.
  private func delay(after attempt: Int, _ failure: RequestError, asked: Duration) -> Duration? {
    // An attempt may have been several, by the middlewares inside, or none, if one of those has failed.
    let entry = request.entry
    let attempt = max(attempt, entry.attemptCount)
    guard failure.isTransient, request.mayBeSentAgain(after: failure.reached), asked <= Self.longestWait,
      entry.mayBeRepeated, let pause = decider.policy.delay(attempt, failure.named(request.operationName))
    else { return nil }
    let delay = max(pause, asked)
    let time = decider.scheduler.now
    if let total = request.timeouts.total, time - start + delay >= total { return nil }
    guard decider.budget.withdraw(for: request.origin, at: time) else { return nil }
    request.context.observation?.report(.retrying(after: delay, reason: failure))
    return delay
  }
}

extension HTTPResponseHead {
  /// Whether a response with this head must be complete before it is passed on, because another may replace it.
  fileprivate func isReplaceable(readsWholeResponse: Bool?) -> Bool {
    !isEndless && (RequestError.isTransient(status: status) || readsWholeResponse ?? isJSON)
  }
}

extension RequestError {
  /// Whether the same request may well succeed a moment later: there was no connection, the connection was lost, a
  /// deadline passed, or the status, of the server or of a proxy that was to open a tunnel, is 408, 425 (RFC 8470,
  /// section 5.2), 429, or from 500 on, except for 501, 505 to 508, 510 and 511. Failures of TLS, decoding failures,
  /// cancellation, other statuses and a `TransportShutdown` are not transient.
  public var isTransient: Bool {
    switch kind {
    case _ where cause is TransportShutdown: false
    case .connectionLost, .timedOut: true
    case .cannotConnect: status.map(Self.isTransient) ?? true
    case .httpStatus: status.map(Self.isTransient) ?? false
    default: false
    }
  }

  /// A status that is not known counts as 500 (RFC 9110, section 15).
  static func isTransient(status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505...508, 510, 511: false
    default: status >= 500
    }
  }
}
