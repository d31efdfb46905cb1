/// How long ago a moment was posted, in words.
enum Age {
  private static let units: [(name: String, seconds: Int64)] = [
    ("year", 365 * 86_400), ("month", 30 * 86_400), ("week", 7 * 86_400),
    ("day", 86_400), ("hour", 3_600), ("minute", 60),
  ]

  /// How far a server's clock may be ahead of this machine's, in seconds.
  private static let skew: Int64 = 300

  /// From this number on, a time is taken for milliseconds; and the last second of the year 9999.
  private static let (milliseconds, last): (Int64, Int64) = (100_000_000_000, 253_402_300_799)

  /// Words such as "3 days ago" or "in 3 days"; `nil` if the text is not a time.
  ///
  /// - Parameters:
  ///   - createdDate: Unix time in decimal digits, in seconds or, as some servers send it, milliseconds.
  ///   - now: Unix time in seconds.
  static func words(createdDate: String, now: Int64) -> String? {
    guard var created = Int64(createdDate), created > -last else { return nil }
    if created >= milliseconds { created /= 1_000 }
    guard created <= last else { return nil }
    let seconds = now - created
    return seconds < -skew ? "in \(largestUnits(in: -seconds) ?? "")" : words(seconds: seconds)
  }

  /// Words such as "3 days ago" for an elapsed time.
  static func words(_ duration: Duration) -> String { words(seconds: duration.components.seconds) }

  private static func words(seconds: Int64) -> String {
    largestUnits(in: seconds).map { "\($0) ago" } ?? "just now"
  }

  /// The time in the largest unit that fits, or `nil` for less than a minute.
  private static func largestUnits(in seconds: Int64) -> String? {
    units.first { seconds >= $0.seconds }.map { counted(seconds / $0.seconds, $0.name) }
  }
}

/// A number with its noun: "1 day", "3 days".
func counted(_ number: some BinaryInteger, _ noun: String) -> String {
  "\(number) \(noun)\(number == 1 ? "" : "s")"
}
