import TestSupport

/// What this process used of the system, over time.
struct UsageLog {
  private var samples: [ProcessUsage] = []

  mutating func sample() {
    if let usage = ProcessUsage.current { samples.append(usage) }
  }

  /// What has grown since the warm-up, which is the first fifth: the medians of the last and the first quarter after
  /// it.
  func growth() -> (memory: Int, descriptors: Int, threads: Int)? {
    let steady = samples.dropFirst(samples.count / 5)
    let quarter = steady.count / 4
    guard quarter > 0 else { return nil }
    let (first, last) = (steady.prefix(quarter), steady.suffix(quarter))
    func growth(_ value: (ProcessUsage) -> Int) -> Int { Self.median(last.map(value)) - Self.median(first.map(value)) }
    return (growth(\.memory), growth(\.descriptors), growth(\.threads))
  }

  var latest: ProcessUsage? { samples.last }

  private static func median(_ values: [Int]) -> Int { values.sorted()[values.count / 2] }
}
