import HTTPClientCore
import Streams
import SystemBase

/// Gives requests their tokens, and runs at most one refresh per holder at a time.
final class TokenKeeper: Sendable {
  /// A token as it was taken for a request.
  struct Ticket: Sendable {
    /// The token; `nil` to send none.
    let token: AccessToken?
    /// Whether the token must be replaced before it is sent.
    fileprivate(set) var isExpired = false
    /// The hash of a token that names no account.
    fileprivate let hash: Int?
    /// How many refreshes for its holder had ended by then.
    fileprivate var seen = 0

    fileprivate init(_ token: AccessToken?, hash: Int?) {
      self.token = token
      self.hash = hash
    }

    /// Whose it is, as far as refreshes have told by now.
    fileprivate var holder: Holder {
      if let hash { return .unnamed(TokenLineage.founder(ofHash: hash)) }
      return token?.account.map { .account($0) } ?? .nobody
    }
  }

  /// The holder of a token: what a refresh brings is only for requests of the same holder.
  fileprivate enum Holder: Hashable {
    case nobody
    case account(String)
    case unnamed(TokenLineage.Founder)

    static func == (one: Holder, other: Holder) -> Bool {
      switch (one, other) {
      case (.nobody, .nobody): true
      case (.account(let one), .account(let other)): one.hasBytes(of: other)
      case (.unnamed(let one), .unnamed(let other)): one == other
      default: false
      }
    }

    func hash(into hasher: inout Hasher) {
      switch self {
      case .nobody: break
      case .account(let name): name.hashBytes(into: &hasher)
      case .unnamed(let founder): hasher.combine(founder)
      }
    }
  }

  /// How long a token that was just brought is trusted if it seems to have expired already: then the clocks of this
  /// machine and of its issuer disagree, and until a server rejects it, nothing is known.
  private static let trust: TimeInterval = 300

  /// How many holders are known before those of no further use are dropped.
  private static let most = 1024

  /// How long failures in a row are remembered after their pause.
  private static let memory = Duration.seconds(60)

  private typealias Refresh = RefreshState<ReplaySubject<AccessToken>, AccessToken>

  /// What is known about a holder's tokens.
  private struct Standing {
    var refresh = Refresh()
    /// The last token, when it was brought by a refresh or first seen, by the scheduler's clock, and how long it lasts
    /// from then on: only then was the wall clock read, which may be set at any time.
    var known: (token: AccessToken, at: Duration, life: TimeInterval, isBrought: Bool)?

    func knows(_ token: AccessToken) -> Bool {
      known.map {
        $0.token.value.hasBytes(of: token.value) && ($0.isBrought || $0.token.expiresAt == token.expiresAt)
      } ?? false
    }

    /// How many seconds the last token has left.
    func timeLeft(at now: Duration) -> TimeInterval {
      known.map { $0.life - (now - $0.at) / .seconds(1) } ?? .infinity
    }

    /// How long before its expiry the last token is due for renewal: a short-lived one that a refresh has brought is due
    /// later, so that it is not due at once.
    func leadTime(atMost usual: TimeInterval) -> TimeInterval {
      guard let known, known.isBrought else { return usual }
      return min(usual, known.life / 4)
    }

    /// Whether this must be kept in case the holder comes back.
    func isOfUse(at now: Duration, refreshAhead: TimeInterval) -> Bool {
      if refresh.flight != nil { return true }
      if let failures = refresh.failures, now < failures.pausedUntil + TokenKeeper.memory { return true }
      guard let known, known.isBrought, (now - known.at) / .seconds(1) < known.life else { return false }
      return known.life <= TokenKeeper.trust || known.life / 4 < refreshAhead
    }
  }

  let provider: any TokenProvider
  private let refreshAhead: TimeInterval
  private let timeout: Duration
  private let scheduler: any Scheduler
  private let now: @Sendable () -> Date
  private let standings = Locked<[Holder: Standing]>([:])
  /// The hash of the last token without an account.
  private let lastHash = LastToken<Int>()

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

  /// The current token. One that is about to expire is renewed in the background.
  func ticket() -> Ticket {
    var ticket = makeTicket(currentToken)
    guard let expiry = ticket.token?.expiresAt, let token = ticket.token else { return ticket }
    let standing = standing(of: ticket.holder, knowing: token, until: expiry)
    let timeLeft = standing.timeLeft(at: scheduler.now)
    ticket.isExpired = timeLeft <= 0
    let isDue = !ticket.isExpired && timeLeft <= standing.leadTime(atMost: refreshAhead)
    // Read again, after making the ticket: a refresh that ended in between has replaced the token.
    if isDue, (currentToken?.value).hasBytes(of: token.value) { refreshAhead(of: ticket) }
    return ticket
  }

  /// What is known about a holder, who has this token now.
  private func standing(of holder: Holder, knowing token: AccessToken, until expiry: Date) -> Standing {
    if let standing = standings.withLock({ $0[holder] }), standing.knows(token) { return standing }
    let (now, life) = (scheduler.now, expiry.timeIntervalSince(self.now()))
    let (standing, old) = standings.withLock { standings in
      let old = standings
      // Users who come and go without a refresh leave nothing behind.
      if standings.count >= Self.most {
        standings = standings.filter { $0.key == holder || $0.value.isOfUse(at: now, refreshAhead: refreshAhead) }
      }
      if standings[holder]?.knows(token) != true {
        standings[holder, default: Standing()].known = (token, now, life, false)
      }
      return (standings[holder] ?? Standing(), old)
    }
    // Released here, not under the lock: the errors in it may be of any type, with user code in their deinit.
    withExtendedLifetime(old) {}
    return standing
  }

  /// The ticket of a request that entered with a token which another one has replaced, if that may be the one of the
  /// running refresh, which has not ended yet: only accounts with names are distinguished before that.
  func refreshingTicket(of pinned: RequestEntry.Token?, replacedBy token: AccessToken?) -> Ticket? {
    guard let token, pinned?.account == nil || token.account == nil else { return nil }
    let ticket = makeTicket(pinned.map { AccessToken($0.value, account: $0.account) })
    return standings.withLock { $0[ticket.holder]?.refresh.flight != nil } ? ticket : nil
  }

  /// Whether a request may be sent with a token: it is one of the account for which the request entered, and that
  /// account is still the current one.
  func maySend(_ token: AccessToken?, for pinned: RequestEntry.Token?) -> Bool {
    TokenLineage.continues(pinned, with: token) && TokenLineage.continues(pinned, with: currentToken)
  }

  /// The token for a request whose ticket has expired or was rejected; no token after a sign-out. Fails with the
  /// refresh's error, or with `timedOut` when the request's remaining time is over.
  func renewed(_ ticket: Ticket, for request: HTTPRequest) -> Observable<Ticket> {
    let isRefreshing = standings.withLock { $0[ticket.holder]?.refresh.flight != nil }
    let current = currentToken
    if !isRefreshing, !(current?.value).hasBytes(of: ticket.token?.value) { return .just(makeTicket(current)) }
    return wait(of: request, for: refreshed(ticket)).map { [self] token in
      let current = currentToken
      // A request that was sent without a token continues with the current account's; one that was sent for an account
      // continues with that account's new token, unless it has signed out.
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
    var ticket = Ticket(token, hash: token.flatMap { $0.account == nil ? hash(of: $0) : nil })
    let holder = ticket.holder
    ticket.seen = standings.withLock { $0[holder]?.refresh.endedCount ?? 0 }
    return ticket
  }

  private func hash(of token: AccessToken) -> Int {
    lastHash.value(of: token) { TokenLineage.hash(of: $0.value) }
  }

  /// The token from a refresh: the running one, a new one, or one that has ended since the ticket was made; in the
  /// pause after failures, the last error.
  private func refreshed(_ ticket: Ticket, isAhead: Bool = false) -> Observable<AccessToken> {
    let (now, holder) = (scheduler.now, ticket.holder)
    let decision = standings.withLock { standings in
      standings[holder, default: Standing()].refresh.need(
        seen: ticket.seen, isAhead: isAhead, replacing: ticket.token?.value, at: now
      ) {
        .create(bufferSize: 1)
      }
    }
    switch decision {
    case .join(let flight): return flight.asObservable()
    case .settled(.success(let token)): return .just(token)
    case .settled(.failure(let error)): return .error(error)
    case .start(let flight):
      start(flight, for: holder, of: ticket)
      return flight.asObservable()
    }
  }

  private func start(_ flight: ReplaySubject<AccessToken>, for holder: Holder, of ticket: Ticket) {
    // It ends for whom it began, whatever is known of them by then.
    let end = { @Sendable in self.end(flight, for: holder, of: ticket, $0) }
    // Do not run the refresh on behalf of the task that needs it first: all waiting requests depend on it.
    TaskMailbox.$current.withValue(nil) {
      // Not disposed by anyone: it ends by itself or by the timeout.
      _ = provider.refresh(replacing: ticket.token).take(1).map { try $0.checkedAfterRefresh() }
        .timeout(timeout, scheduler: scheduler).asSingle().subscribe(
          onNext: { end(.success($0)) }, onError: { end(.failure(Self.refreshError($0))) })
    }
  }

  private func end(
    _ flight: ReplaySubject<AccessToken>, for holder: Holder, of ticket: Ticket,
    _ outcome: Result<AccessToken, any Error>
  ) {
    let now = scheduler.now
    let new = try? outcome.get()
    if let new { TokenLineage.record(new, replacing: ticket.token) }
    let newHolder = makeTicket(new).holder
    let life = new?.expiresAt?.timeIntervalSince(self.now()) ?? .infinity
    let old = standings.withLock { standings in
      let old = standings
      // Drop accounts that are no longer of use. If one comes back later, its token may be refreshed once more.
      standings = old.filter { $0.key == holder || $0.value.isOfUse(at: now, refreshAhead: refreshAhead) }
      standings[holder]?.refresh.end(outcome, at: now)
      if let new { standings[newHolder, default: Standing()].known = (new, now, life < 1 ? Self.trust : life, true) }
      return old
    }
    // Released here, not under the lock: the errors in it may be of any type, with user code in their deinit.
    withExtendedLifetime(old) {}
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

  /// The error for all waiting requests: the refresh's own, with a message that says that the refresh failed.
  private static func refreshError(_ error: any Error) -> RequestError {
    var failure = RequestError(wrapping: error)
    if case StreamError.timeout = error {
      failure.message = "The token was not refreshed in time: try again, or sign in again."
      failure.cause = TokenRefreshFailure(failure)
      return failure
    }
    failure.message = "The token could not be refreshed: \(failure.message)".sanitized(upTo: 1024)
    failure.operationName = nil
    // The response to a refresh contains tokens, which cannot be redacted because they are not known yet.
    failure.excerpt = nil
    failure.cause = TokenRefreshFailure(failure)
    return failure
  }
}

/// Decides which request starts a refresh of the token, and which requests wait for it: a pure state machine, without
/// locks and streams.
///
///     idle ── first request in need: start ──► refreshing ── ended, well or not ──► idle
///                                               ▲ others in need: join
///
/// Refreshes are counted. A request records how many had ended when it took its token; if more have ended since, it
/// gets the outcome of the last one, so that a late response for an old token starts no further refresh. A refresh
/// ahead of expiry that fails, and that no request waited for, does not count.
///
/// A refresh that has failed twice in a row is not repeated before a pause, which doubles from failure to failure:
/// until then, a request that needs it gets the last error at once. A refresh ahead of expiry pauses after one failure.
/// A sign-in, which brings another token, ends the pause.
struct RefreshState<Flight: Sendable, Token: Sendable>: Sendable {
  enum Decision {
    case start(Flight)
    case join(Flight)
    case settled(Result<Token, any Error>)
  }

  /// The failures in a row.
  struct Failures: Sendable {
    let count: Int
    let error: any Error
    /// The hash of the token that was to be replaced: a dump would show its value (S3).
    let old: Int?
    let pausedUntil: Duration
  }

  private static var backoff: Backoff { Backoff(initial: .seconds(1), maximum: .seconds(60), jitter: 0) }

  private(set) var endedCount = 0
  private(set) var failures: Failures?
  private(set) var flight: Flight?
  private var isNeeded = false
  private var old: Int?
  private var outcome: Result<Token, any Error>?

  /// What to do for a request whose token, taken after `seen` refreshes had ended, was rejected, or (`isAhead`) is to
  /// be renewed ahead of expiry. `old` is that token's value.
  mutating func need(
    seen: Int, isAhead: Bool, replacing old: String?, at now: Duration, makeFlight: () -> Flight
  ) -> Decision {
    if let flight {
      isNeeded = isNeeded || !isAhead
      return .join(flight)
    }
    if seen < endedCount, let outcome { return .settled(outcome) }
    let old = old?.hashValue
    if let failures, failures.old == old, isAhead || failures.count > 1, now < failures.pausedUntil {
      return .settled(.failure(failures.error))
    }
    self.old = old
    let new = makeFlight()
    flight = new
    isNeeded = !isAhead
    return .start(new)
  }

  /// Records the outcome of the running refresh.
  mutating func end(_ outcome: Result<Token, any Error>, at now: Duration) {
    flight = nil
    switch outcome {
    case .success: failures = nil
    case .failure(let error):
      let count = failures.map { $0.old == old ? $0.count + 1 : 1 } ?? 1
      failures = Failures(
        count: count, error: error, old: old, pausedUntil: now + Self.backoff.delay(after: count))
      guard isNeeded else { return }
    }
    self.outcome = outcome
    endedCount += 1
  }
}
