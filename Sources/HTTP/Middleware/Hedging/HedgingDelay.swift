/// After how long a request counts as slow.
public struct HedgingDelay: Hashable, Sendable {
  enum Rule: Hashable, Sendable {
    case fixed(Duration)
    case percentile(Double, atLeast: Duration)
  }

  let rule: Rule

  /// Always the same.
  public static func fixed(_ delay: Duration) -> HedgingDelay { HedgingDelay(rule: .fixed(delay)) }

  /// Longer than that part of the operation's recent requests took to the head of their answers: with 95, one in twenty
  /// is hedged. It goes by the last 256 of each operation; before there are 20, nothing is hedged. What is no number counts
  /// as 100.
  public static func percentile(_ percent: Double, atLeast: Duration = .milliseconds(1)) -> HedgingDelay {
    let percent = percent.isNaN ? 100 : min(max(percent, 0), 100)
    return HedgingDelay(rule: .percentile(percent, atLeast: atLeast))
  }
}
