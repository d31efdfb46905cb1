import HTTP
import Streams

/// How long an outbox waits after a failed attempt: 2 seconds after the first, twice as long after each further one,
/// and at most 128; or as long as the server asks for, up to an hour. Then it makes the next attempt by itself.
struct OutboxPause: Sendable {
  /// What other processes have to know of a pause, as it is kept in the folder.
  struct Kept: Codable, Sendable {
    let failures: Int
    let beganAt: StoreTime
    let endsAt: StoreTime
    let reason: String
  }

  private static let backoff = Backoff(initial: .seconds(2), maximum: .seconds(128), jitter: 0)

  /// How long a server may ask to wait.
  private static var limit: Duration { .seconds(3_600) }

  private var failures = 0
  private var beganAt: StoreTime?
  private var endsAt = StoreTime(microseconds: 0)
  private var failure: RequestError?
  /// Whether nothing is sent during the pause, as the server has failed. Otherwise the next attempt only need not be
  /// made by itself: the server was not reached, so another attempt costs it nothing.
  private var holdsBack = false
  /// Whether it is kept in the folder, and so may be ended by any process.
  private var isShared = false

  /// - Parameters:
  ///   - attempts: How many attempts at the entry have failed, including those of earlier processes.
  ///   - isShared: Whether it is also kept in the folder.
  mutating func begin(
    attempts: Int, because failure: RequestError, holdsBack: Bool, isShared: Bool = false, now: StoreTime
  ) {
    // A server that is reached again, or has not been tried for long, is given time from the beginning.
    if holdsBack != self.holdsBack || now - endsAt > .seconds(600) { failures = 0 }
    failures = min(max(failures + 1, attempts), 7)
    (beganAt, self.failure, self.holdsBack, self.isShared) = (now, failure, holdsBack, isShared)
    endsAt = now + max(Self.backoff.delay(after: failures), min(failure.retryAfter ?? .zero, Self.limit))
  }

  /// Follows what is kept in the folder: takes over a pause that another process has begun later, and ends one that
  /// another process has ended.
  mutating func follow(_ kept: Kept?, now: StoreTime) {
    guard let kept else {
      if isShared { self = OutboxPause() }
      return
    }
    // From the future, as after the clock was set back, it means nothing.
    guard kept.beganAt <= now, kept.endsAt - now <= Self.limit else { return }
    // One that still holds back takes precedence over one that does not.
    if let beganAt, kept.beganAt <= beganAt, holdsBack || kept.endsAt <= now { return }
    failures = min(max(kept.failures, 1), 7)
    (beganAt, endsAt, holdsBack, isShared) = (kept.beganAt, kept.endsAt, true, true)
    failure = RequestError(.overloaded, "An attempt by another process has failed shortly before: \(kept.reason)")
  }

  /// This pause for other processes; `nil` if it does not hold back what they send.
  var kept: Kept? {
    guard isShared, let beganAt, let failure else { return nil }
    // A server's message may be longer than a file should hold.
    let reason = String("\(failure)".unicodeScalars.prefix(1_000))
    return Kept(failures: failures, beganAt: beganAt, endsAt: endsAt, reason: reason)
  }

  /// The time until the next attempt; `nil` if there is no pause. If it began in the future, as after the clock was set
  /// back, there is none.
  func remaining(now: StoreTime) -> Duration? {
    guard let beganAt, beganAt <= now, now < endsAt else { return nil }
    return endsAt - now
  }

  /// The failure because of which nothing is sent now; `nil` if something may be.
  func reason(now: StoreTime) -> RequestError? {
    holdsBack && remaining(now: now) != nil ? failure : nil
  }
}
