public import Streams

/// Limits how many requests to an origin are under way. Further requests wait in line, first come, first served; if the
/// line is full, they fail at once with `overloaded`.
///
/// A request is under way from its start until it ends or is disposed. A request that has waited continues on the
/// scheduler with what is left of its total deadline; if that passes first, it fails with `timedOut`. Place this
/// middleware inside a ``RetryMiddleware``, so that a request takes up no place while it pauses between attempts.
/// Copies share their places. It keeps at most 1,024 origins; those that were not used for longest are forgotten, and
/// requests under way there are no longer counted.
public struct ConcurrencyLimitMiddleware: HTTPMiddleware {
  private let limit: Int
  private let queueLimit: Int
  private let scheduler: any Scheduler
  private let gates: OriginTable<SlotGate>

  /// Takes how many requests may be under way, at least 1, how many may wait, and the scheduler on which waiting
  /// requests continue.
  public init(_ limit: Int, queueLimit: Int = 1000, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.limit = limit
    self.queueLimit = queueLimit
    self.scheduler = scheduler
    gates = OriginTable { SlotGate(Slots(limit: limit, queueLimit: queueLimit), scheduler) }
  }

  /// Passes the request on, at once or when it is its turn.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      let gate = gates.withValue(of: request.origin) { $0 }
      guard gate.takeFreeSlot() else { return inLine(at: gate, request, next: next) }
      return next(request).do(onDispose: gate.giveBack)
    }
  }

  private func inLine(
    at gate: SlotGate, _ request: HTTPRequest,
    next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .create { observer in
      let start = scheduler.now
      let exchange = DisposeBag()
      let entry = gate.enter { hasWaited in
        var request = request
        let wait = scheduler.now - start
        request.timeouts = request.timeouts.after(wait)
        if hasWaited { request.observation?.tell(.dequeued(after: wait)) }
        exchange.insert(next(request).subscribe(observer))
      }
      guard let entry else {
        observer.onError(refusal(of: request))
        return Disposables.create()
      }
      if entry.isWaiting, let total = request.timeouts.total {
        let timer = scheduler.schedule(after: total) {
          if entry.isWaiting { observer.onError(timeout(of: request)) }
        }
        exchange.insert(timer)
      }
      return Disposables.create {
        exchange.dispose()
        gate.leave(entry)
      }
    }
  }

  private func timeout(of request: HTTPRequest) -> RequestError {
    RequestError(
      .timedOut, "The request's time was over before it was its turn: try again later, or allow more time.",
      operationName: request.operationName)
  }

  private func refusal(of request: HTTPRequest) -> RequestError {
    RequestError(
      .overloaded, "\(limit) requests to '\(request.origin)' are under way, and \(queueLimit) wait: try again later.",
      operationName: request.operationName)
  }
}

extension RequestError.Kind {
  /// Too many requests are under way in this process; this one was not sent.
  public static let overloaded = RequestError.Kind("overloaded")
}
