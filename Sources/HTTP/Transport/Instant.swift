import Foundation

#if os(Linux)
  import CLinux  // has the fields of a timespec
#endif

/// A time on `ContinuousClock`'s clock, which goes on while the machine sleeps, in one word.
///
/// The standard library keeps the layout of its own to itself, so that whatever holds one is copied by tables at run time.
struct Instant: Comparable, Hashable, Sendable {
  /// Since some moment before the program began: not below 0, so that no difference is too large.
  let nanoseconds: Int64

  /// The present.
  static var now: Instant {
    #if canImport(Darwin)
      let clock = CLOCK_MONOTONIC
    #else
      let clock = CLOCK_BOOTTIME
    #endif
    var time = timespec()
    clock_gettime(clock, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  static func - (left: Instant, right: Instant) -> Duration {
    .nanoseconds(left.nanoseconds - right.nanoseconds)
  }

  /// The time so much later, or earlier: at most the last, and at least the first that there is.
  static func + (instant: Instant, duration: Duration) -> Instant {
    let nanoseconds = Int64(clamping: duration.attoseconds / 1_000_000_000)
    let (sum, isOver) = instant.nanoseconds.addingReportingOverflow(nanoseconds)
    return Instant(nanoseconds: isOver ? .max : max(sum, 0))
  }
}
