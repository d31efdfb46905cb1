import HTTPClientCore
import Streams

/// How long an outbox waits after a failed attempt: 2 seconds after the first, twice as long after each further one,
/// and at most 128; or as long as the server asks for, up to an hour. Then it makes the next attempt by itself.
///
/// All times are by the machine's own clock, which no one sets.
struct OutboxPause: Sendable {
  /// What other processes have to know of a pause, as it is kept in the folder.
  struct Kept: Codable, Equatable, Sendable {
    let failures: Int
    let begunAt: Uptime
    let microseconds: Int64
    let reason: String

    var duration: Duration { min(max(.microseconds(microseconds), .zero), RequestError.longestPause) }
  }

  private static let backoff = Backoff(initial: .seconds(2), maximum: .seconds(128), jitter: 0)

  private var failures = 0
  private var beganAt: Duration?
  private var endsAt = Duration.zero
  private var failure: RequestError?
  /// Whether nothing is sent during the pause, as the server has failed. Otherwise the next attempt only need not be
  /// made by itself: the server was not reached, so another attempt costs it nothing.
  private var holdsBack = false
  /// Whether it is kept in the folder, and so may be ended by any process.
  private var isKept = false
  /// What is kept in the folder and has been followed, or is over: also if it could not be removed.
  private var seen: Kept?

  /// - Parameter attempts: How many attempts at the entry have failed, including those of earlier processes.
  mutating func begin(attempts: Int, because failure: RequestError, holdsBack: Bool, now: Duration) {
    // A server that is reached again, or has not been tried for long, is given time from the beginning.
    if holdsBack != self.holdsBack || now - endsAt > .seconds(600) { failures = 0 }
    failures = min(max(failures + 1, attempts), 7)
    (beganAt, self.failure, self.holdsBack, isKept) = (now, failure, holdsBack, false)
    endsAt = now + max(Self.backoff.delay(after: failures), failure.pause)
  }

  /// Ends the pause, and what is kept of one in the folder.
  mutating func end(_ kept: Kept?) {
    self = OutboxPause()
    seen = kept
  }

  /// Follows what is kept in the folder: takes over a pause that another process has begun later, and ends one that
  /// another process has ended.
  mutating func follow(_ kept: Kept?, now: Duration) {
    guard let kept else {
      if isKept { self = OutboxPause() }
      return
    }
    if kept == seen { return }
    seen = kept
    let elapsed = kept.begunAt.elapsed(at: now)
    // One that still holds back takes precedence over one that does not.
    if let beganAt, now - elapsed <= beganAt, holdsBack || elapsed >= kept.duration { return }
    failures = min(max(kept.failures, 1), 7)
    (beganAt, endsAt, holdsBack, isKept) = (now - elapsed, now - elapsed + kept.duration, true, true)
    failure = RequestError(.overloaded, "An attempt by another process has failed shortly before: \(kept.reason)")
  }

  /// This pause for other processes; `nil` if there is none.
  var kept: Kept? {
    guard let beganAt, let failure else { return nil }
    // A server's message may be longer than a file should hold.
    let reason = String("\(failure)".unicodeScalars.prefix(1_000))
    return Kept(
      failures: failures, begunAt: Uptime(beganAt), microseconds: Uptime(endsAt - beganAt).microseconds, reason: reason)
  }

  /// This pause has been kept in the folder, unless it is another one by now.
  mutating func note(_ kept: Kept) {
    seen = kept
    if kept == self.kept { isKept = true }
  }

  /// The time until the next attempt; `nil` if there is no pause.
  func remaining(now: Duration) -> Duration? { beganAt != nil && now < endsAt ? endsAt - now : nil }

  /// The failure because of which nothing is sent now; `nil` if something may be.
  func reason(now: Duration) -> RequestError? {
    holdsBack && remaining(now: now) != nil ? failure : nil
  }
}

/// A time by the machine's own clock, which counts from its start, and no one sets; as it is kept on disk.
struct Uptime: Codable, Hashable, Sendable {
  let microseconds: Int64

  init(microseconds: Int64) { self.microseconds = microseconds }

  init(_ time: Duration) {
    let (seconds, attoseconds) = time.components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
    microseconds = overflows ? .max : whole &+ attoseconds / 1_000_000_000_000
  }

  init(from decoder: any Decoder) throws { microseconds = try decoder.singleValueContainer().decode(Int64.self) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(microseconds)
  }

  /// How much time has passed since, at least. If the machine has started again since, that is the time since then at
  /// most; and a time that has not come yet is certainly of before.
  func elapsed(at now: Duration) -> Duration {
    let time = Duration.microseconds(max(microseconds, 0))
    return time <= now ? now - time : now
  }
}

extension RequestError {
  /// The longest pause in which a server is obeyed.
  static var longestPause: Duration { .seconds(3_600) }

  /// How long the server asks to wait, as far as it is obeyed; zero if it does not.
  var pause: Duration { min(retryAfter ?? .zero, Self.longestPause) }
}
