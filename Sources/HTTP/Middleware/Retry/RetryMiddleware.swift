public import Foundation
public import Streams

/// Sends a request again after a transient failure.
///
///     RetryMiddleware(.exponential(attempts: 4, initial: .milliseconds(50)))
///
/// Only a request that is ``HTTPRequest/isReplayable`` is sent again (a GraphQL mutation only if it was declared
/// idempotent), and only after a failure that is ``RequestError/isTransient``. The policy sees a failure of status as
/// an error of the kind `httpStatus`, and may narrow this further. A retry needs a place in the budget, and must begin
/// before the request's total deadline; each attempt gets what is left of it. `Retry-After` is obeyed, up to 60
/// seconds. If no attempt succeeds, the last attempt's response or error is given, just as it would be without this
/// middleware.
///
/// Since an attempt may fail in the middle of its body, responses to such requests are held back until they are
/// complete. A response of more than `holdingBack` bytes, an event stream, or a multipart response is passed on as it
/// comes, and is then not retried, whatever its status.
///
/// Calls back on the threads of the attempts; the scheduler times the pauses.
public struct RetryMiddleware: HTTPMiddleware {
  private let policy: RetryPolicy
  private let budget: RetryBudget
  private let limit: Int
  private let scheduler: any Scheduler
  private let now: @Sendable () -> Date

  /// Takes the retry policy, the budget, how many bytes of a response to hold back, the scheduler that times the
  /// pauses, and the wall clock, which `Retry-After` needs if it is a date.
  ///
  /// By default there are two retries, after at most 100 and 200 milliseconds, with full jitter.
  public init(
    _ policy: RetryPolicy = .exponential(attempts: 3, initial: .milliseconds(100), maximum: .seconds(10)),
    budget: RetryBudget = RetryBudget(), holdingBack limit: Int = 1 << 20,
    scheduler: some Scheduler = ConcurrentScheduler(), now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.policy = policy
    self.budget = budget
    self.limit = limit
    self.scheduler = scheduler
    self.now = now
  }

  /// Passes the request on, and again after a transient failure.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      var request = request
      budget.count(&request)
      guard request.isReplayable else { return next(request) }
      return attempts(at: request, next: next)
    }
  }

  private func attempts(
    at request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    let start = scheduler.now
    let hasPassedOn = Locked(false)
    let attempt = Observable<HTTPResponsePart>.deferred {
      var request = request
      request.timeouts = request.timeouts.after(scheduler.now - start)
      return next(request)
    }
    let delays = RetryPolicy { attempt, error in
      guard !hasPassedOn.withLock({ $0 }) else { return nil }
      return delay(after: attempt, error, of: request, since: start)
    }
    return
      attempt
      .held(upTo: limit, where: { !$0.isEndless }) { response, isWhole in
        isWhole && RequestError.isTransient(status: response.head.status)
      }
      .do(onNext: { _ in hasPassedOn.withLock { $0 = true } })
      .retry(when: delays, scheduler: scheduler)
      .catch { error in
        guard let refused = error as? RefusedResponse else { throw error }
        return refused.stream
      }
  }

  /// How long to wait before the next attempt; `nil` for no further one.
  private func delay(
    after attempt: Int, _ error: any Error, of request: HTTPRequest, since start: Duration
  ) -> Duration? {
    let head = (error as? RefusedResponse)?.response.head
    let failure =
      head.map { RequestError(.httpStatus, "The server answered with status \($0.status).", status: $0.status) }
      ?? RequestError(wrapping: error)
    guard failure.isTransient, let pause = policy.delay(attempt, failure.named(request.operationName)) else {
      return nil
    }
    let asked = head?.retryAfter(now: now()) ?? .zero
    let delay = max(pause, min(asked, .seconds(60)))
    if let total = request.timeouts.total, scheduler.now - start + delay >= total { return nil }
    guard budget.withdraw(for: request.origin) else { return nil }
    request.observation?.tell(.retrying(after: delay, reason: failure))
    return delay
  }
}

extension HTTPResponseHead {
  /// Whether the response is read as it arrives, and may never end.
  var isEndless: Bool { mediaType.map { $0 == "text/event-stream" || $0.hasPrefix("multipart/") } ?? false }
}
