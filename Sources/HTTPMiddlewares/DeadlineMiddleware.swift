public import HTTPClientCore
public import Streams

/// Fails a request with `timedOut` when its time is over, whatever it is doing then: an exchange, or a wait for a
/// retry, for a token or in a queue.
///
/// The time is the shorter of the request's own `timeouts.total` and this limit, and is handed on as the request's
/// total, so nested deadlines can only shorten it. Placed outermost, it covers all attempts together; inside a
/// ``RetryMiddleware``, each attempt. A limit, and a total that was set, hold to the end of any response, the default
/// total as `HTTPTimeouts.total` says, and not for an upload. The error comes on the scheduler.
///
/// The error's `reached` is `never` if nothing was sent, and nothing will be. A `SocketTransport` that the client or
/// `send(_:through:)` was given knows that of a request that waits for a connection. Any other transport, also one around
/// that, and a middleware of your own inside this one, may have sent what they have.
public struct DeadlineMiddleware: HTTPMiddleware {
  package final class Decider: Sendable {
    let limit: Duration?
    let scheduler: any Scheduler

    init(_ limit: Duration?, _ scheduler: any Scheduler) {
      self.limit = limit
      self.scheduler = scheduler
    }
  }

  package let decider: Decider

  /// Takes the maximum time for a request; without one, only the request's own total applies.
  public init(_ limit: Duration? = nil, scheduler: some Scheduler = ConcurrentScheduler()) {
    decider = Decider(limit, scheduler)
  }

  /// Passes the request on with the shorter total.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    deciding(on: request, next: next)
  }
}

extension DeadlineMiddleware: DecidingMiddleware {
  package var asksGate: Bool { true }
}

extension DeadlineMiddleware.Decider: RequestDecider {
  package func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) throws -> (any RequestPassage)? {
    let own = request.mayOutlastTotal ? nil : request.timeouts.total
    guard let total = limit.map({ min($0, own ?? $0) }) ?? own else {
      // The gate is for the first deadline, and also for what is sent past another one further in.
      _ = request.context.sendGate?.claim()
      return nil
    }
    let passage = TimedRequest(request, total, isShorter: limit != nil)
    guard total > .zero else { throw passage.error(isUnsent: true) }
    // Before the request is known to be in the run: whatever ends that finds the timer.
    passage.timer = scheduler.schedule(after: total) { place.interrupt { passage.pass() } }
    return passage
  }
}

/// A request on its way through the middleware.
///
/// `@unchecked Sendable`: the timer is set before any call; `isLifted` is touched only by calls that come one at a time.
private final class TimedRequest: RequestPassage, @unchecked Sendable {
  @exclusivity(unchecked) var timer: (any Disposable)?
  private let request: HTTPRequest
  /// Whether that is sent on as it came.
  private let isUnchanged: Bool
  private let total: Duration
  private let sent: SendGate.Shared
  @exclusivity(unchecked) private var isLifted = false

  init(_ request: HTTPRequest, _ total: Duration, isShorter: Bool) {
    var request = request
    if isShorter { request.timeouts.total = total }
    // Most requests bring a gate, and need not be copied for one.
    if let gate = request.context.sendGate, gate.claim() {
      sent = gate
      isUnchanged = !isShorter
    } else {
      isUnchanged = false
      sent = SendGate.Shared(inside: request.context.sendGate)
      // A deadline inside makes one of its own: this one is for all that is sent.
      _ = sent.claim()
      request.context.sendGate = sent
    }
    self.request = request
    self.total = total
  }

  func depart() -> Departure { isUnchanged ? .unchanged : .now(request) }

  func receive(_ head: HTTPResponseHead) -> Int? {
    if request.reading.mayOutlastTotal(head) { isLifted = true }
    return nil
  }

  func leave() { timer?.dispose() }

  /// The time is over.
  func pass() -> RequestError? { isLifted ? nil : error(isUnsent: sent.cancel()) }

  func error(isUnsent: Bool) -> RequestError {
    .deadlinePassed(
      after: total, request.target, operationName: request.operationName, reached: isUnsent ? .never : .maybe)
  }
}
