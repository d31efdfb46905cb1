import Streams

/// Tells when a server is given up that does not close. Its time begins again whenever 64 KiB of what is queued, or
/// the rest, have been sent in it; up to a minute does not count in which nothing is read, because the observer is behind.
/// Pure, so that it can be tested without a clock.
struct ClosePatience {
  private let limit: Duration
  private var end: Instant
  private var unsent: Int
  /// How much time may still not count, and since when it does not.
  private var excuse = Duration.seconds(60)
  private var pausedAt: Instant?

  /// How much has to be sent in the time, if not all is; so little that waits at first does not count.
  static let leastProgress = 64 << 10

  init(_ limit: Duration, at now: Instant, unsent: Int) {
    self.limit = limit
    self.unsent = unsent > Self.leastProgress ? unsent : 0
    end = now + limit
  }

  /// Nothing is read from now on.
  mutating func pause(at now: Instant) { pausedAt = pausedAt ?? now }

  /// Reads again; returns false if there was no pause.
  mutating func resume(at now: Instant) -> Bool {
    guard let pausedAt = pausedAt.take() else { return false }
    let pause = min(now - pausedAt, excuse)
    end = end + pause
    excuse -= pause
    return true
  }

  /// When to look again; `nil` if the time is over. So many bytes have not left yet.
  mutating func look(at now: Instant, unsent left: Int) -> Instant? {
    if left == 0 ? unsent > 0 : unsent - left >= Self.leastProgress { (end, unsent) = (now + limit, left) }
    let end = pausedAt == nil ? end : end + excuse
    return now < end ? end : nil
  }
}
