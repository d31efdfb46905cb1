import Foundation
import HTTP
import Streams

/// The deadline that `--timeout` sets for a run: requests and pauses share the time, counted from the start.
struct RunDeadline: HTTPMiddleware {
  private let limit: Duration
  private let end: Duration
  private let scheduler: any Scheduler

  /// Starts counting now.
  init(after limit: Duration, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.limit = limit
    end = scheduler.now + limit
    self.scheduler = scheduler
  }

  /// Sets a request's total deadline to the time that is left.
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      var request = request
      request.timeouts.total = max(end - scheduler.now, .zero)
      return next(request).catch { [url = request.url] in throw named($0, url) }
    }
  }

  /// A deadline error with the run's own limit instead of the time that was left.
  private func named(_ error: any Error, _ url: URL) -> any Error {
    guard var error = error as? RequestError, error.kind == .timedOut, scheduler.now >= end else { return error }
    error.message =
      "Timed out after \(limit) waiting for the complete response of '\(url.shownSafely)': allow more by --timeout."
    return error
  }
}
