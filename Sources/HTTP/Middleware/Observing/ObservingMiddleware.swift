public import Streams

/// Reports each request to an observer. Place it outermost, so that it sees all attempts.
///
/// A client of the module Networking has a place of its own for an observer, which also hears whether the answer could be
/// read; this is for those that send requests without one. A request that has an observer already keeps it.
public struct ObservingMiddleware: HTTPMiddleware {
  private let observer: any RequestObserver
  private let scheduler: any Scheduler

  /// Takes the observer, and the scheduler whose clock measures.
  public init(_ observer: some RequestObserver, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.observer = observer
    self.scheduler = scheduler
  }

  /// Sends the request on, and tells of it.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard request.observation == nil else { return next(request) }
    return .deferred {
      var request = request
      let observation = RequestObservation(observer, &request, scheduler: scheduler)
      return observation.watch(next(request))
    }
  }
}
