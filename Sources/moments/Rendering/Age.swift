/// How long ago a moment was posted, in words.
enum Age {
  private static let units: [(name: String, seconds: Int64)] = [
    ("year", 365 * 86_400), ("month", 30 * 86_400), ("week", 7 * 86_400),
    ("day", 86_400), ("hour", 3_600), ("minute", 60),
  ]

  /// How far ahead of ours a server's clock may run.
  private static let skew: Int64 = 300

  /// Words such as "3 days ago", or `nil` for what is no time of the past.
  ///
  /// - Parameters:
  ///   - createdDate: Unix time in seconds, in decimal digits.
  ///   - now: Unix time in seconds.
  static func words(createdDate: String, now: Int64) -> String? {
    guard let created = Int64(createdDate) else { return nil }
    let (seconds, overflows) = now.subtractingReportingOverflow(created)
    guard !overflows, seconds >= -skew else { return nil }
    return words(seconds: seconds)
  }

  /// Words such as "3 days ago" for a time that has passed.
  static func words(_ duration: Duration) -> String { words(seconds: duration.components.seconds) }

  private static func words(seconds: Int64) -> String {
    guard let unit = units.first(where: { seconds >= $0.seconds }) else { return "just now" }
    return "\(counted(seconds / unit.seconds, unit.name)) ago"
  }
}

/// A number with its noun: "1 day", "3 days".
func counted(_ number: some BinaryInteger, _ noun: String) -> String {
  "\(number) \(noun)\(number == 1 ? "" : "s")"
}
