import Foundation

/// Measures the parts of an operation while it runs: each lap counts for the part that it ends with.
///
/// It uses the monotonic clock, which a process can read without a system call; a clock of processor time needs one,
/// which takes as long as some of the parts. So interruptions show: leave such operations out. The time for reading the
/// clock is measured in each operation, by an empty lap, and does not count.
///
/// `@unchecked Sendable`: only one thread runs the measured operation.
final class Stopwatch: @unchecked Sendable {
  private(set) var times = OperationTimes()
  private var last = 0.0
  private var cost = 0.0

  func start() {
    (times, cost) = (OperationTimes(), 0)
    last = Self.now()
    lap(\.rest)
    (cost, times.rest) = (times.rest, 0)
  }

  /// Ends a lap.
  func lap(_ part: WritableKeyPath<OperationTimes, Double>) {
    let now = Self.now()
    times[keyPath: part] += now - last - cost
    last = now
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}
