package import Streams
import SystemBase

/// Follows one request while it is in flight, and reports to its observer. The request carries it along.
package final class RequestObservation: Sendable {
  private struct State {
    var attemptCount = 0
    var status: Int?
    var sentBytes = 0
    var receivedBytes = 0
    var queueTime = Duration.zero
    var source = HTTPResponseSource.network
    var running: [Int: AttemptObservation] = [:]
    var summary: RequestSummary?
  }

  /// Passes the events to the listener one at a time; the summary comes last, and nothing after it.
  private let events: AnyObserver<RequestEvent>
  private let scheduler: any Scheduler
  private let start: Duration
  private let state = Locked(State())
  private let sent: SentSecrets

  /// Begins to observe a request.
  package init(_ observer: any RequestObserver, _ request: inout HTTPRequest, scheduler: any Scheduler) {
    self.scheduler = scheduler
    start = scheduler.now
    let listener = observer.begin(&request)
    sent = request.context.sent ?? SentSecrets(declared: request.context.secrets)
    sent.add(request)
    request.context.sent = sent
    events = AnyObserver { [state] event in
      if case .next(let event) = event { return listener(event) }
      if let summary = state.withLock({ $0.summary }) { listener(.ended(summary)) }
    }
    request.context.observation = self
  }

  package func report(_ event: RequestEvent) {
    switch event {
    case .dequeued(let wait): state.withLock { $0.queueTime += wait }
    case .retrying(let delay, let reason): return events.onNext(.retrying(after: delay, reason: redacted(reason)))
    default: break
    }
    events.onNext(event)
  }

  /// Reports that a cache has the response with this head.
  package func reportCached(_ head: HTTPResponseHead) {
    state.withLock { ($0.status, $0.source) = (head.status, head.source) }
    events.onNext(.servedFromCache(head.source))
  }

  /// Reports the end of the request. With `isSingle`, the request ends with the stream's only element, because many
  /// subscribers do not wait for the completion.
  package func watch<Element: Sendable>(
    _ stream: Observable<Element>, isSingle: Bool = false
  ) -> Observable<Element> {
    stream.do(
      onNext: { _ in if isSingle { self.end(.succeeded) } },
      onError: { self.end(.failed(self.redacted(RequestError(wrapping: $0)))) },
      onCompleted: { self.end(.succeeded) }, onDispose: { self.end(.cancelled) })
  }

  /// Reports one attempt.
  package func attempt(
    _ request: HTTPRequest, _ send: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred { [self] in
      var request = request
      let sentBytes = request.bodyCount ?? 0
      let now = scheduler.now
      let attempt = state.withLock { state in
        state.attemptCount += 1
        state.sentBytes += sentBytes
        let attempt = AttemptObservation(state.attemptCount, sentBytes: sentBytes, start: now)
        state.running[attempt.number] = attempt
        return attempt
      }
      if let onAttempt = request.onAttempt {
        var changed = request
        onAttempt(attempt.number, &changed)
        request.headers = changed.headers
      }
      sent.add(request)
      request.context.onConnected = {
        [scheduler, onConnected = request.context.onConnected] isReused, version, opening in
        onConnected?(isReused, version, opening)
        attempt.recordConnection(isReused, version, opening, at: scheduler.now)
      }
      // Transports of other modules call only this one.
      request.onConnected = { [scheduler, onConnected = request.onConnected] isReused in
        attempt.recordConnection(isReused, nil, nil, at: scheduler.now)
        onConnected?(isReused)
      }
      report(.attemptStarted(attempt.number))
      let end: @Sendable (RequestOutcome) -> Void = { [self] in self.end(attempt, $0) }
      return send(request).do(
        onNext: { [self] part in
          attempt.record(part, at: scheduler.now)
          state.withLock { state in
            switch part {
            case .head(let head): state.status = head.status
            case .body(let piece): state.receivedBytes += piece.count
            case .trailers: break
            }
          }
        },
        onError: { [self] in end(.failed(redacted(RequestError(wrapping: $0)))) },
        onCompleted: { end(.succeeded) }, onDispose: { end(.cancelled) })
    }
  }

  private func end(_ attempt: AttemptObservation, _ outcome: RequestOutcome) {
    state.withLock { $0.running[attempt.number] = nil }
    if let summary = attempt.end(outcome, at: scheduler.now) { report(.attemptEnded(summary)) }
  }

  private func end(_ outcome: RequestOutcome) {
    // A deadline ends the request before its attempts are torn down: they did not respond in time.
    let running = state.withLock { $0.running.values.sorted { $0.number < $1.number } }
    for attempt in running { end(attempt, outcome.isTimeOver ? outcome : .cancelled) }
    let now = scheduler.now
    state.withLock { state in
      guard state.summary == nil else { return }
      state.summary = RequestSummary(
        outcome: outcome, status: state.status, attemptCount: state.attemptCount, sentBytes: state.sentBytes,
        receivedBytes: state.receivedBytes, queueTime: state.queueTime, duration: now - start, source: state.source)
    }
    events.onCompleted()
  }

  /// The error without the request's secrets, and without its cause, which might contain some.
  private func redacted(_ error: RequestError) -> RequestError {
    let redactor = sent.redactor
    var redacted = RequestError(
      error.kind, redactor.redact(error.message), operationName: error.operationName, status: error.status,
      excerpt: error.excerpt.map(redactor.redact), reached: error.reached)
    redacted.retryAfter = error.retryAfter
    return redacted
  }
}

/// What is known about one attempt.
final class AttemptObservation: Sendable {
  private struct State {
    var status: Int?
    var receivedBytes = 0
    var connection: (isReused: Bool, version: String?, opening: ConnectionOpeningTimes?, at: Duration)?
    var isReportedAtOnce = false
    var headAt: Duration?
    var isOver = false
  }

  let number: Int
  private let sentBytes: Int
  private let start: Duration
  private let state = Locked(State())

  init(_ number: Int, sentBytes: Int, start: Duration) {
    self.number = number
    self.sentBytes = sentBytes
    self.start = start
  }

  /// Records a connection. If a transport reports it at once, with a version, its second report, on a queue, may come late
  /// and is ignored.
  func recordConnection(
    _ isReused: Bool, _ version: String?, _ opening: ConnectionOpeningTimes?, at now: Duration
  ) {
    state.withLock { state in
      guard version != nil || !state.isReportedAtOnce else { return }
      state.isReportedAtOnce = version != nil
      // A connection that replaces a lost one is the one that the response comes on.
      if state.headAt == nil { state.connection = (isReused, version, opening, now) }
    }
  }

  func record(_ part: HTTPResponsePart, at now: Duration) {
    state.withLock { state in
      switch part {
      case .head(let head): (state.status, state.headAt) = (head.status, now)
      case .body(let piece): state.receivedBytes += piece.count
      case .trailers: break
      }
    }
  }

  /// Returns the summary the first time, `nil` afterwards.
  func end(_ outcome: RequestOutcome, at now: Duration) -> AttemptSummary? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      state.isOver = true
      return AttemptSummary(
        number: number, outcome: outcome, status: state.status, sentBytes: sentBytes,
        receivedBytes: state.receivedBytes, connectTime: state.connection.map { $0.at - start },
        isConnectionReused: state.connection?.isReused, connectionOpening: state.connection?.opening,
        httpVersion: state.connection?.version,
        firstByteTime: state.headAt.map { $0 - start },
        bodyTime: state.headAt.map { now - $0 }, duration: now - start)
    }
  }
}
