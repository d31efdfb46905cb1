import Foundation
import HTTP
import Streams

/// The end of the time that `--timeout` gives a run: what its requests and waits have left is counted from the start.
struct RunDeadline: HTTPMiddleware {
  private let limit: Duration
  private let end: Duration
  private let scheduler: any Scheduler

  /// Counts from now on.
  init(after limit: Duration, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.limit = limit
    end = scheduler.now + limit
    self.scheduler = scheduler
  }

  /// Gives a request what is left for its total.
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      var request = request
      request.timeouts.total = max(end - scheduler.now, .zero)
      return next(request).catch { [url = request.url] in throw named($0, url) }
    }
  }

  /// The error of a deadline, which knows only what was left, with the run's own limit.
  private func named(_ error: any Error, _ url: URL) -> any Error {
    guard var error = error as? RequestError, error.kind == .timedOut, scheduler.now >= end else { return error }
    error.message = "After \(limit) there was no whole answer from '\(url.shownSafely)': allow more by --timeout."
    return error
  }
}
