import Foundation
import HTTPClientCore
import Streams

/// One request in flight in a `URLSession`: passes the session's callbacks to an observer, in order and on a queue of
/// its own, and enforces the deadlines.
final class URLSessionExchange: @unchecked Sendable {
  // All variables are used only on `queue`, which is serial.
  private let queue = DispatchQueue(label: "URLSessionExchange")
  private let request: HTTPRequest
  private let observer: AnyObserver<HTTPResponsePart>
  private var deadlines: ExchangeDeadlines
  private let progress: ProgressReport?
  private var timer: (any DispatchSourceTimer)?
  private var (hasSent, hasHead) = (false, false)
  private var isFinished = false

  init(_ request: HTTPRequest, observer: AnyObserver<HTTPResponsePart>) {
    self.request = request
    self.observer = observer
    deadlines = ExchangeDeadlines(request.timeouts, start: .now)
    progress = request.onProgress.map { ProgressReport($0, totalToSend: request.body?.count ?? 0) }
  }

  /// Starts the deadlines.
  func start() {
    queue.async { [self] in
      checkDeadlines()  // The one for connecting may have passed already.
      guard !isFinished else { return }
      // A URLSession does not say whether there is a connection: if there is an idle deadline, it covers connecting,
      // too.
      if request.timeouts.idle != nil { deadlines.recordActivity(at: .now) }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { [weak self] in self?.checkDeadlines() }
      self.timer = timer
      checkDeadlines()
      timer.activate()
    }
  }

  /// Records how much of the request's body has been sent.
  func didSend(_ count: Int64) {
    progress?.didSend(Int(count))
    queue.async { [self] in hasSent = true }
  }

  /// Passes the head to the observer.
  func didReceive(_ head: HTTPResponseHead) {
    queue.async { [self] in deliver(head) }
  }

  /// Passes a piece of the body to the observer.
  func didReceive(_ piece: Data) {
    queue.async { [self] in
      guard !isFinished, !piece.isEmpty else { return }
      progress?.didReceive(.body(piece))
      observer.onNext(.body(piece))
      deadlines.recordActivity(at: .now)
    }
  }

  /// Ends the stream; a head that arrived only with the end is passed on first.
  func didComplete(_ head: HTTPResponseHead?, error: RequestError?) {
    queue.async { [self] in
      guard !isFinished else { return }
      if let head, !hasHead { deliver(head) }
      finish(error.map(withReach))
    }
  }

  /// Stops the exchange, because the observer has gone.
  func stop() {
    queue.async { [self] in
      isFinished = true
      timer?.cancel()
      timer = nil
    }
  }

  private func deliver(_ head: HTTPResponseHead) {
    guard !isFinished else { return }
    hasHead = true
    deadlines.recordActivity(at: .now)
    // A URLSession decodes content codings even if they were not requested, without a limit on the decoded size.
    if head.mayHaveBody(toHead: request.method == .head), let coding = head.headers["Content-Encoding"],
      coding.lowercased() != "identity"
    {
      finish(RequestError(.badResponse, "The response is coded as '\(coding)', which was not requested."))
    } else {
      deadlines.record(head, for: request)
      progress?.didReceive(.head(head))
      observer.onNext(.head(head))
    }
  }

  /// An error that claims no more than is known: libcurl sends a request once more, over a new connection, if a kept one
  /// ends before the response, and gives the error of that connection. Where the body is empty, nothing reports the sending.
  private func withReach(_ error: RequestError) -> RequestError {
    let mayHaveLeft = hasSent || hasHead || !request.isReplayable && request.body?.isEmpty ?? true
    guard error.reached == .never, mayHaveLeft else { return error }
    var error = error
    error.reached = .maybe
    return error
  }

  private func checkDeadlines() {
    guard !isFinished, let (phase, instant) = deadlines.next else { return }
    let left = instant - .now
    if left <= .zero {
      finish(deadlines.error(for: phase, request))
    } else {
      timer?.schedule(deadline: .now() + left.dispatchInterval, leeway: .milliseconds(5))
    }
  }

  private func finish(_ error: RequestError?) {
    isFinished = true
    timer?.cancel()
    timer = nil
    if let error {
      observer.onError(error.named(request.operationName))
    } else {
      observer.onCompleted()
    }
  }
}

extension Duration {
  /// The duration for Dispatch, at most a year.
  fileprivate var dispatchInterval: DispatchTimeInterval {
    .nanoseconds(Int(min(self, .seconds(365 * 86400)) / .nanoseconds(1)))
  }
}
