import SystemBase

/// A time on the clock of `ContinuousClock`, which advances while the machine sleeps, in one word.
///
/// The standard library does not expose the layout of its own `Instant`, so every value that contains one is copied by
/// way of run-time tables.
package struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since some moment before the program began; never negative, so that no difference overflows.
  package let nanoseconds: Int64

  @inlinable package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The current time.
  package static var now: Instant {
    #if canImport(Darwin)
      let clock = CLOCK_MONOTONIC
    #else
      let clock = CLOCK_BOOTTIME
    #endif
    var time = timespec()
    clock_gettime(clock, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  @inlinable package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  @inlinable package static func - (left: Instant, right: Instant) -> Duration {
    .nanoseconds(left.nanoseconds - right.nanoseconds)
  }

  /// The time that is later by `duration`, or earlier if it is negative, clamped to the range of the type.
  @inlinable package static func + (instant: Instant, duration: Duration) -> Instant {
    let nanoseconds = Int64(clamping: duration.attoseconds / 1_000_000_000)
    let (sum, isOver) = instant.nanoseconds.addingReportingOverflow(nanoseconds)
    return Instant(nanoseconds: isOver ? .max : max(sum, 0))
  }
}
