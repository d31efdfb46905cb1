import Foundation

/// Tells where the time of an operation goes, in place: each lap counts for the part that it ends with.
///
/// It goes by the monotonic clock, which a process reads without a system call; a clock of processor time needs one, which
/// takes as long as some of what is measured. What interrupts an operation shows, then: leave such operations out. What
/// reading the clock takes is found in each operation, by a lap of nothing, and does not count.
///
/// `@unchecked Sendable`: one thread alone runs what is measured.
final class Stopwatch: @unchecked Sendable {
  private(set) var times = OperationTimes()
  private var last = 0.0
  private var cost = 0.0

  func start() {
    (times, cost) = (OperationTimes(), 0)
    last = Self.now()
    lap(\.own)
    (cost, times.own) = (times.own, 0)
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
