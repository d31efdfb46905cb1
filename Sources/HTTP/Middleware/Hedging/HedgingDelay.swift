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

/// How long the last requests of an operation took.
struct LatencyRecord: Sendable {
  static let capacity = 256
  static let least = 20

  private var latencies: [Duration] = []
  private var next = 0

  mutating func add(_ latency: Duration) {
    if latencies.count < Self.capacity {
      latencies.append(latency)
    } else {
      latencies[next] = latency
      next = (next + 1) % Self.capacity
    }
  }

  /// The least recorded time that is no shorter than this part of them (nearest rank).
  func percentile(_ percent: Double) -> Duration? {
    guard latencies.count >= Self.least else { return nil }
    let rank = Int((percent / 100 * Double(latencies.count)).rounded(.up))
    return latencies.sorted()[min(max(rank, 1), latencies.count) - 1]
  }
}
