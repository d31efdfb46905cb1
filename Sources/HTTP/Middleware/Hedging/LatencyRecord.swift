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

  /// The shortest recorded time that is at least as long as this percentage of the recorded times (nearest rank).
  func percentile(_ percent: Double) -> Duration? {
    guard latencies.count >= Self.least else { return nil }
    let rank = Int((percent / 100 * Double(latencies.count)).rounded(.up))
    return latencies.sorted()[min(max(rank, 1), latencies.count) - 1]
  }
}
