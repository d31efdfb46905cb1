public import HTTPClientCore
public import Streams

/// Reports each request to an observer. Place it outermost, so that it sees all attempts.
///
/// A client of the module GraphQLClient takes an observer itself, and also reports to it whether the response could be
/// decoded; this middleware is for sending requests without such a client. A request that already has an observer keeps
/// it.
public struct ObservingMiddleware: HTTPMiddleware, SendingByNext {
  private let observer: any RequestObserver
  private let scheduler: any Scheduler

  /// Takes the observer, and the scheduler whose clock measures the times.
  public init(_ observer: some RequestObserver, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.observer = observer
    self.scheduler = scheduler
  }

  /// Passes the request on, and reports on it.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard request.context.observation == nil else { return next(request) }
    return .deferred {
      var request = request
      let observation = RequestObservation(observer, &request, scheduler: scheduler)
      return observation.watch(next(request))
    }
  }
}
