import HTTP
import Streams

/// The end of the time that `--timeout` gives a run: what its requests and waits have left is counted from the start.
struct RunDeadline: HTTPMiddleware {
  private let end: Duration
  private let scheduler: any Scheduler

  /// Counts from now on.
  init(after limit: Duration, scheduler: some Scheduler = ConcurrentScheduler()) {
    end = scheduler.now + limit
    self.scheduler = scheduler
  }

  /// Gives a request what is left, in whole milliseconds as errors tell it, for its total.
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      var request = request
      request.timeouts.total = .milliseconds(Int64(max(end - scheduler.now, .zero) / .milliseconds(1)))
      return next(request)
    }
  }
}
