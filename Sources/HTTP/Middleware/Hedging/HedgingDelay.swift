/// The delay after which a request counts as slow.
public struct HedgingDelay: Hashable, Sendable {
  enum Rule: Hashable, Sendable {
    case fixed(Duration)
    case percentile(Double, atLeast: Duration)
  }

  let rule: Rule

  /// A constant delay.
  public static func fixed(_ delay: Duration) -> HedgingDelay { HedgingDelay(rule: .fixed(delay)) }

  /// The time within which this percentage of the operation's recent requests had the head of their response: with 95,
  /// one request in twenty is hedged. The delay is never shorter than `atLeast`. The last 256 requests of each
  /// operation count; before there are 20, nothing is hedged. NaN counts as 100.
  public static func percentile(_ percent: Double, atLeast: Duration = .milliseconds(1)) -> HedgingDelay {
    let percent = percent.isNaN ? 100 : min(max(percent, 0), 100)
    return HedgingDelay(rule: .percentile(percent, atLeast: atLeast))
  }
}
