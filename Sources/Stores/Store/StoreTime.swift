import HTTPClientCore
public import SystemBase

/// A point in time, in microseconds since 1970. Records are dated with it, so that it means the same to other
/// processes.
public struct StoreTime: Hashable, Comparable, Sendable, Codable {
  /// Microseconds since 1970-01-01, 00:00 UTC.
  public let microseconds: Int64

  /// Makes a time from microseconds since 1970.
  public init(microseconds: Int64) {
    self.microseconds = microseconds
  }

  /// The time of a date, to the microsecond; a date beyond what `Int64` can hold becomes the nearest time.
  public init(_ date: Date) {
    let exact = (date.timeIntervalSince1970 * 1_000_000).rounded()
    microseconds = Int64(exactly: exact) ?? (exact > 0 ? .max : .min)
  }

  /// The system's wall clock.
  public static func now() -> StoreTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return StoreTime(microseconds: Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000)
  }

  /// The time as Foundation has it.
  public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }

  /// Whether a time is earlier than another.
  @inlinable public static func < (left: StoreTime, right: StoreTime) -> Bool { left.microseconds < right.microseconds }

  /// The time between two, clamped to what `Int64` microseconds can hold.
  @inlinable public static func - (left: StoreTime, right: StoreTime) -> Duration {
    let (difference, overflow) = left.microseconds.subtractingReportingOverflow(right.microseconds)
    return .microseconds(overflow ? (left > right ? Int64.max : .min) : difference)
  }

  /// The time that is later by a duration, clamped to what `Int64` microseconds can hold.
  public static func + (left: StoreTime, right: Duration) -> StoreTime {
    let (seconds, attoseconds) = right.components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
    // The fraction has the sign of the seconds, so a second step does not bring back what the first one clamps.
    let later = left.microseconds.clampedSum(overflows ? (seconds > 0 ? .max : .min) : whole)
    return StoreTime(microseconds: later.clampedSum(attoseconds / 1_000_000_000_000))
  }
}

extension Int64 {
  fileprivate func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other > 0 ? .max : .min) : sum
  }
}
