import Foundation
import Streams

/// Gives requests their tokens, and has one refreshed at a time.
final class TokenKeeper: Sendable {
  /// A token as a request takes it.
  struct Ticket: Sendable {
    /// The token; `nil` to send none.
    let token: AccessToken?
    /// How many refreshes had ended by then.
    fileprivate let seen: Int
  }

  /// How long not to try again ahead of expiry after that failed.
  private static let pause: TimeInterval = 1

  private struct State {
    var refresh = RefreshState<ReplaySubject<AccessToken>, AccessToken>()
    /// The token that a refresh brought last, and when: short-lived ones are not due at once.
    var brought: (token: AccessToken, at: Date)?
    var isPausedUntil = Date.distantPast
  }

  private let provider: any TokenProvider
  private let refreshAhead: TimeInterval
  private let timeout: Duration
  private let scheduler: any Scheduler
  private let now: @Sendable () -> Date
  private let state = Locked(State())

  init(
    _ provider: any TokenProvider, refreshAhead: Duration, timeout: Duration, scheduler: any Scheduler,
    now: @escaping @Sendable () -> Date
  ) {
    self.provider = provider
    self.refreshAhead = refreshAhead / .seconds(1)
    self.timeout = timeout
    self.scheduler = scheduler
    self.now = now
  }

  /// The token for a request: the current one, or a new one where that has expired. One that is about to expire is
  /// renewed beside.
  func ticket() -> Observable<Ticket> {
    // In this order: a token that is replaced in between is known by its value.
    let current = provider.currentToken
    let ticket = Ticket(token: current, seen: state.withLock { $0.refresh.endedCount })
    guard let token = ticket.token, let expiry = token.expiresAt else { return .just(ticket) }
    let now = now()
    if expiry <= now { return renewed(ticket) }
    if isDue(token, expiry, at: now) { refreshAhead(of: ticket) }
    return .just(ticket)
  }

  /// The token for a request whose ticket was turned down. Fails with the refresh's error.
  func renewed(_ ticket: Ticket) -> Observable<Ticket> {
    let isRefreshing = state.withLock { $0.refresh.flight != nil }
    if !isRefreshing, let current = provider.currentToken, current.value != ticket.token?.value {
      return .just(Ticket(token: current, seen: ticket.seen))
    }
    return token(after: ticket).map { Ticket(token: $0, seen: ticket.seen) }
  }

  private func token(after ticket: Ticket) -> Observable<AccessToken> {
    let decision = state.withLock { state in
      state.refresh.need(seen: ticket.seen) { .create(bufferSize: 1) }
    }
    switch decision {
    case .join(let flight): return flight.asObservable()
    case .settled(.success(let token)): return .just(token)
    case .settled(.failure(let error)): return .error(error)
    case .start(let flight):
      start(flight, replacing: ticket.token)
      return flight.asObservable()
    }
  }

  private func start(_ flight: ReplaySubject<AccessToken>, replacing old: AccessToken?) {
    // Nobody's to dispose: it ends by itself, or by the timeout.
    _ = provider.refresh(replacing: old).take(1).timeout(timeout, scheduler: scheduler).asSingle().subscribe(
      onNext: { self.end(flight, .success($0)) }, onError: { self.end(flight, .failure(Self.refreshError($0))) })
  }

  private func end(_ flight: ReplaySubject<AccessToken>, _ outcome: Result<AccessToken, any Error>) {
    let now = now()
    let old = state.withLock { state in
      switch outcome {
      case .success(let token): state.brought = (token, now)
      case .failure: state.isPausedUntil = now + Self.pause
      }
      return state.refresh.end(outcome)
    }
    _ = old
    switch outcome {
    case .success(let token):
      flight.onNext(token)
      flight.onCompleted()
    case .failure(let error): flight.onError(error)
    }
  }

  private func refreshAhead(of ticket: Ticket) {
    _ = token(after: ticket).subscribe(onError: { _ in })
  }

  private func isDue(_ token: AccessToken, _ expiry: Date, at now: Date) -> Bool {
    let (brought, pausedUntil) = state.withLock { ($0.brought, $0.isPausedUntil) }
    var ahead = refreshAhead
    if let brought, brought.token.value == token.value {
      ahead = min(ahead, expiry.timeIntervalSince(brought.at) / 4)
    }
    return expiry.timeIntervalSince(now) <= ahead && now >= pausedUntil
  }

  /// The error for all who wait: the refresh's own, which says that it is about the refresh. Unless that may pass, its
  /// status is 401: what the request has met is that its token is taken no more.
  private static func refreshError(_ error: any Error) -> RequestError {
    if case StreamError.timeout = error {
      return RequestError(.timedOut, "The token was not refreshed in time: try again, or sign in again.", cause: error)
    }
    var failure = RequestError(wrapping: error)
    failure.message = "The token could not be refreshed: \(failure.message)".harmless(upTo: 1024)
    failure.operationName = nil
    // The answer to a refresh is tokens, and nobody knows those yet that would have to be taken out.
    failure.excerpt = nil
    let mayPass = failure.isTransient || failure.kind == .circuitOpen || failure.kind == .overloaded
    if !mayPass { failure.status = 401 }
    return failure
  }
}
