import HTTP

/// How long an outbox waits after a failed attempt: 2 seconds after the first, twice as long after each further one, and
/// at most 128. Then it makes the next attempt by itself.
struct OutboxPause: Sendable {
  /// What other processes have to know of a pause, as it is kept in the folder.
  struct Kept: Codable, Sendable {
    let failures: Int
    let beganAt: StoreTime
    let reason: String
  }

  private var failures = 0
  private var beganAt: StoreTime?
  private var failure: RequestError?
  /// Whether nothing is sent during the pause, as the server has failed. Otherwise the next attempt only need not be
  /// made by itself: the server was not reached, so another attempt costs it nothing.
  private var holdsBack = false

  /// - Parameter attempts: How many attempts at the entry have failed, including those of earlier processes.
  mutating func begin(attempts: Int, because failure: RequestError, holdsBack: Bool, now: StoreTime) {
    // A server that is reached again is given time from the beginning.
    if holdsBack != self.holdsBack { failures = 0 }
    failures = min(max(failures + 1, attempts), 7)
    (beganAt, self.failure, self.holdsBack) = (now, failure, holdsBack)
  }

  /// Takes over the pause that another process has begun, if it is later than this one.
  mutating func adopt(_ kept: Kept) {
    guard beganAt.map({ kept.beganAt > $0 }) ?? true else { return }
    failures = min(max(kept.failures, 1), 7)
    (beganAt, holdsBack) = (kept.beganAt, true)
    failure = RequestError(.overloaded, "An attempt by another process has failed shortly before: \(kept.reason)")
  }

  /// This pause for other processes; `nil` if it does not hold back what they send.
  var kept: Kept? {
    guard holdsBack, let beganAt, let failure else { return nil }
    // A server's message may be longer than a file should hold.
    return Kept(failures: failures, beganAt: beganAt, reason: String("\(failure)".unicodeScalars.prefix(1_000)))
  }

  /// The time until the next attempt; `nil` if there is no pause. If it began in the future, as after the clock was set
  /// back, there is none.
  func remaining(now: StoreTime) -> Duration? {
    guard let beganAt, beganAt <= now else { return nil }
    let rest = Duration.seconds(1 << failures) - (now - beganAt)
    return rest > .zero ? rest : nil
  }

  /// The failure because of which nothing is sent now; `nil` if something may be.
  func reason(now: StoreTime) -> RequestError? {
    holdsBack && remaining(now: now) != nil ? failure : nil
  }
}
