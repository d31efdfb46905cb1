public import HTTPClientCore
public import Streams

/// Fails a request with `timedOut` when its time is over, whatever it is doing then: an exchange, or a wait for a
/// retry, for a token or in a queue.
///
/// The time is the shorter of the request's own `timeouts.total` and this limit, and is handed on as the request's
/// total, so nested deadlines can only shorten it. Placed outermost, it covers all attempts together; inside a
/// ``RetryMiddleware``, each attempt. A limit, and a total that was set, hold to the end of any response, the default
/// total as `HTTPTimeouts.total` says, and not for an upload. The error comes on the scheduler.
public struct DeadlineMiddleware: HTTPMiddleware {
  private let limit: Duration?
  private let scheduler: any Scheduler

  /// Takes the maximum time for a request; without one, only the request's own total applies.
  public init(_ limit: Duration? = nil, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.limit = limit
    self.scheduler = scheduler
  }

  /// Passes the request on with the shorter total.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    let own = request.mayOutlastTotal ? nil : request.timeouts.total
    guard let total = limit.map({ min($0, own ?? $0) }) ?? own else { return next(request) }
    let error = { @Sendable [target = request.target, name = request.operationName] (isUnsent: Bool) in
      RequestError.deadlinePassed(after: total, target, operationName: name, reached: isUnsent ? .never : .maybe)
    }
    guard total > .zero else { return .error(error(true)) }
    return .deferred {
      let sent = SendGate.Shared()
      var request = request
      if limit != nil { request.timeouts.total = total }
      request.context.sendGate = sent
      return next(request).deadline(
        total, scheduler: scheduler, unless: { [reading = request.reading] in $0.mayOutlastTotal(reading) },
        error: { error(sent.gate.cancel()) })
    }
  }
}
