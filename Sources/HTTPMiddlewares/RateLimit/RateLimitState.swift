import Streams

/// A server's limit as a middleware follows it, in a scheduler's time: pure, without locks.
struct RateLimitState: Sendable {
  /// How long nobody waits for a server that asks for more.
  private static let longest = Duration.seconds(86_400)
  /// For a server that does not say how long.
  private static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60), jitter: 0)

  private var limit: Int?
  private var remaining: Int?
  private var resetAt: Duration?
  private var blockedUntil = Duration.zero
  private var refusals = 0

  /// What is left.
  func view(at now: Duration) -> RateLimit {
    let isOver = resetAt.map { $0 <= now } ?? false
    return RateLimit(
      limit: limit, remaining: isOver ? limit : remaining, resetsAfter: resetAt.map { max($0 - now, .zero) })
  }

  /// How long the next request has to wait.
  func wait(at now: Duration) -> Duration {
    var until = blockedUntil
    if remaining == 0, let resetAt { until = max(until, resetAt) }
    return max(until - now, .zero)
  }

  /// Counts a request that is sent: until its response tells, one fewer is left.
  mutating func recordSent() {
    if let remaining, remaining > 0 { self.remaining = remaining - 1 }
  }

  /// Records a response that is no refusal, except that the server may be out of order for a while.
  mutating func record(_ reported: RateLimit?, retryAfter: Duration?, at now: Duration) {
    refusals = 0
    update(reported, at: now)
    if let retryAfter { block(for: retryAfter, at: now) }
  }

  /// Records that a request was refused, with the time that the server asks for, if it does. Returns how long that
  /// request has to wait; without a time from the server, others do not.
  mutating func refuse(_ reported: RateLimit?, retryAfter: Duration?, at now: Duration) -> Duration {
    refusals = min(refusals + 1, 30)
    update(reported, at: now)
    let untilReset = reported.flatMap { $0.remaining ?? 0 == 0 ? $0.resetsAfter : nil }
    guard let asked = retryAfter ?? untilReset else {
      return max(Self.backoff.delay(after: refusals), wait(at: now))
    }
    block(for: asked, at: now)
    return wait(at: now)
  }

  private mutating func update(_ reported: RateLimit?, at now: Duration) {
    guard let reported else { return }
    limit = reported.limit ?? limit
    remaining = reported.remaining
    resetAt = reported.resetsAfter.map { now + min($0, Self.longest) }
  }

  private mutating func block(for time: Duration, at now: Duration) {
    blockedUntil = max(blockedUntil, now + min(max(time, .zero), Self.longest))
  }
}
