import HTTPClientCore
import Streams
import SystemBase

/// The times of a cache. What this process has stored ages by a clock that is never set. Wall times are compared only
/// for what another process has stored, and with a server's `Date` (RFC 9111, section 4.2.3).
struct CacheClock: Sendable {
  /// A server's clock as its responses tell it.
  private struct ServerClock {
    /// Its `Date` less this process's uptime, in seconds.
    var offset: Double
    /// The uptime when a response said so last.
    var notedAt: Double
  }

  /// For how long a response with a later `Date` counts more than those after it, in seconds: one of them may come from an
  /// old cache that sends no `Age`, or the server's clock may have been set back.
  private static let memory: Double = 600

  private static let start = ContinuousClock.now

  /// The time since the process began to ask, with the time in which the machine sleeps.
  static let elapsed: @Sendable () -> Duration = { ContinuousClock.now - start }

  private let now: @Sendable () -> Date
  private let monotonic: @Sendable () -> Duration
  private let servers = RecentTable<HTTPOrigin, ServerClock?> { nil }

  init(now: @escaping @Sendable () -> Date, monotonic: @escaping @Sendable () -> Duration) {
    self.now = now
    self.monotonic = monotonic
  }

  /// Seconds since 1970 by the wall clock.
  var date: Double { now().timeIntervalSince1970 }

  /// Seconds by the clock that is never set.
  var uptime: Double {
    let (seconds, attoseconds) = monotonic().components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The seconds since 1970 by a server's clock; `nil` unless it has responded lately.
  func date(of server: HTTPOrigin) -> Double? {
    let uptime = uptime
    return servers.withValue(of: server) { $0.map { $0.offset + uptime } }
  }

  /// Takes note of a response that comes from the server itself.
  func note(_ head: HTTPResponseHead, of server: HTTPOrigin) {
    guard !head.headers.contains("Age"), let date = head.seconds(in: "Date") else { return }
    let uptime = uptime
    servers.withValue(of: server) { known in
      let new = ServerClock(offset: date - uptime, notedAt: uptime)
      guard let old = known, uptime - old.notedAt < Self.memory, new.offset < old.offset else { return known = new }
      // `Date` has whole seconds.
      if new.offset > old.offset - 1.5 { known?.notedAt = uptime }
    }
  }

  /// The age of a stored response from a server, in seconds. If the clock was set back to before the response came to
  /// another process, and the server has not told the time, nobody knows, and it counts as old.
  func age(of response: CachedResponse, from server: @autoclosure () -> HTTPOrigin) -> Double {
    if let arrival = response.arrival { return response.initialAge + max(0, uptime - arrival) }
    let elapsed = date - response.responseTime
    guard let sent = response.date, let date = date(of: server()) else {
      return elapsed < 0 ? .infinity : response.initialAge + elapsed
    }
    // By the server's clock it was made so long ago: it cannot have come earlier, nor be younger than that now.
    let sinceMade = max(0, date - sent)
    return response.initialAge + min(max(elapsed, sinceMade - response.initialAge), sinceMade)
  }
}
