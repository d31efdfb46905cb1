import Foundation
import Streams

/// Gives requests their tokens, and has one of each holder refreshed at a time.
final class TokenKeeper: Sendable {
  /// A token as a request takes it.
  struct Ticket: Sendable {
    /// The token; `nil` to send none.
    let token: AccessToken?
    /// How many refreshes of its holder's had ended by then.
    fileprivate let seen: Int

    fileprivate var holder: Holder { Holder(of: token) }
  }

  /// Whose a token is: what a refresh brings is for the requests of one holder alone.
  fileprivate enum Holder: Hashable {
    case nobody
    case account(String?)

    init(of token: AccessToken?) {
      self = token.map { .account($0.account) } ?? .nobody
    }
  }

  /// How long not to try again ahead of expiry after that failed.
  private static let pause: TimeInterval = 1

  private typealias Refresh = RefreshState<ReplaySubject<AccessToken>, AccessToken>

  /// What is known of a holder's tokens.
  private struct Standing {
    var refresh = Refresh()
    /// The token that a refresh brought last, and when: short-lived ones are not due at once.
    var brought: (token: AccessToken, at: Date)?
    var pausedUntil = Date.distantPast

    /// How long before its expiry a token is due.
    func leadTime(of token: AccessToken, _ expiry: Date, atMost usual: TimeInterval) -> TimeInterval {
      guard let brought, brought.token.value == token.value else { return usual }
      return min(usual, expiry.timeIntervalSince(brought.at) / 4)
    }

    /// Whether this has to be kept, for a holder who may come back.
    func isOfUse(at now: Date, refreshAhead: TimeInterval) -> Bool {
      if refresh.flight != nil || now < pausedUntil { return true }
      guard let token = brought?.token, let expiry = token.expiresAt, now < expiry else { return false }
      return leadTime(of: token, expiry, atMost: refreshAhead) < refreshAhead
    }
  }

  private let provider: any TokenProvider
  private let refreshAhead: TimeInterval
  private let timeout: Duration
  private let scheduler: any Scheduler
  private let now: @Sendable () -> Date
  private let standings = Locked<[Holder: Standing]>([:])

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

  private var currentToken: AccessToken? { provider.currentToken }

  /// The token for a request: the current one, or a new one where that has expired. One that is about to expire is
  /// renewed beside.
  func ticket(for request: HTTPRequest) -> Observable<Ticket> {
    let ticket = makeTicket(currentToken)
    guard let token = ticket.token, let expiry = token.expiresAt else { return .just(ticket) }
    let now = now()
    if expiry <= now { return renewed(ticket, for: request) }
    // Read once more, after the ticket: a refresh that ended in between has replaced the token.
    if isDue(token, expiry, at: now), currentToken?.value == token.value { refreshAhead(of: ticket) }
    return .just(ticket)
  }

  /// The token for a request whose ticket was turned down; none after a sign-out. Fails with the refresh's error, and with
  /// `timedOut` when what is left of the request's time is over.
  func renewed(_ ticket: Ticket, for request: HTTPRequest) -> Observable<Ticket> {
    let isRefreshing = standings.withLock { $0[ticket.holder]?.refresh.flight != nil }
    let current = currentToken
    if !isRefreshing, current?.value != ticket.token?.value { return .just(makeTicket(current)) }
    return wait(of: request, for: refreshed(ticket)).map { [self] token in
      let current = currentToken
      // What nobody sent goes on for who has signed in; what an account sent goes on for it, unless it has signed out.
      return makeTicket(ticket.token == nil || current == nil ? current : token)
    }
  }

  private func wait(of request: HTTPRequest, for token: Observable<AccessToken>) -> Observable<AccessToken> {
    guard let total = request.timeouts.total else { return token }
    return token.take(1).timeout(total, scheduler: scheduler).catch { error in
      guard case StreamError.timeout = error else { throw error }
      throw RequestError(
        .timedOut, "The request's time was over before there was a token for it: try again, or allow more time.",
        operationName: request.operationName)
    }
  }

  private func makeTicket(_ token: AccessToken?) -> Ticket {
    Ticket(token: token, seen: standings.withLock { $0[Holder(of: token)]?.refresh.endedCount ?? 0 })
  }

  /// The token that a refresh brings, or has brought since the ticket was made.
  private func refreshed(_ ticket: Ticket, isAhead: Bool = false) -> Observable<AccessToken> {
    let decision = standings.withLock { standings in
      standings[ticket.holder, default: Standing()].refresh.need(seen: ticket.seen, isAhead: isAhead) {
        .create(bufferSize: 1)
      }
    }
    switch decision {
    case .join(let flight): return flight.asObservable()
    case .settled(.success(let token)): return .just(token)
    case .settled(.failure(let error)): return .error(error)
    case .start(let flight):
      start(flight, of: ticket)
      return flight.asObservable()
    }
  }

  private func start(_ flight: ReplaySubject<AccessToken>, of ticket: Ticket) {
    let end = { @Sendable in self.end(flight, of: ticket.holder, $0) }
    // No work of the task that is first to need it: all who wait go on from it.
    TaskMailbox.$current.withValue(nil) {
      // Nobody's to dispose: it ends by itself, or by the timeout.
      _ = provider.refresh(replacing: ticket.token).take(1).timeout(timeout, scheduler: scheduler).asSingle().subscribe(
        onNext: { end(.success($0)) }, onError: { end(.failure(Self.refreshError($0))) })
    }
  }

  private func end(
    _ flight: ReplaySubject<AccessToken>, of holder: Holder, _ outcome: Result<AccessToken, any Error>
  ) {
    let now = now()
    let old = standings.withLock { standings in
      let old = standings
      // Accounts come and go. One that comes back later may have its token refreshed once more.
      standings = old.filter { $0.key == holder || $0.value.isOfUse(at: now, refreshAhead: refreshAhead) }
      standings[holder]?.refresh.end(outcome)
      switch outcome {
      case .success(let token): standings[Holder(of: token), default: Standing()].brought = (token, now)
      case .failure: standings[holder]?.pausedUntil = now + Self.pause
      }
      return old
    }
    // Released here, and not under the lock: the errors in it may be anybody's.
    _ = old
    switch outcome {
    case .success(let token):
      flight.onNext(token)
      flight.onCompleted()
    case .failure(let error): flight.onError(error)
    }
  }

  private func refreshAhead(of ticket: Ticket) {
    _ = refreshed(ticket, isAhead: true).subscribe(onError: { _ in })
  }

  private func isDue(_ token: AccessToken, _ expiry: Date, at now: Date) -> Bool {
    let standing = standings.withLock { $0[Holder(of: token)] } ?? Standing()
    let leadTime = standing.leadTime(of: token, expiry, atMost: refreshAhead)
    return expiry.timeIntervalSince(now) <= leadTime && now >= standing.pausedUntil
  }

  /// The error for all who wait: the refresh's own, which says that it is about the refresh. Unless that may pass, its
  /// status is 401: what the request has met is that its token is taken no more.
  private static func refreshError(_ error: any Error) -> RequestError {
    if case StreamError.timeout = error {
      var failure = RequestError(
        .timedOut, "The token was not refreshed in time: try again, or sign in again.", cause: error)
      failure.isOfRefresh = true
      return failure
    }
    var failure = RequestError(wrapping: error)
    failure.isOfRefresh = true
    failure.message = "The token could not be refreshed: \(failure.message)".harmless(upTo: 1024)
    failure.operationName = nil
    // The answer to a refresh is tokens, and nobody knows those yet that would have to be taken out.
    failure.excerpt = nil
    let mayPass = failure.isTransient || failure.kind == .circuitOpen || failure.kind == .overloaded
    if !mayPass { failure.status = 401 }
    return failure
  }
}
