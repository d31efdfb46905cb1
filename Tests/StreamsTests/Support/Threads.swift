import Foundation
import Synchronization
import TestSupport

/// Two threads that go through the rounds in step, a few nanoseconds apart: what they race for takes no longer. `count`
/// is a multiple of 8.
func raceInStep(_ count: Int, _ round: @escaping @Sendable (_ index: Int, _ thread: Int) -> Void) throws {
  let arrivals = Atomic(0)
  try race(2) { thread in
    for first in stride(from: 0, to: count, by: 8) {
      let arrived = arrivals.add(1, ordering: .acquiringAndReleasing).newValue
      let all = (arrived + 1) / 2 * 2
      var spins = 0
      while arrivals.load(ordering: .acquiring) < all {
        spins += 1
        if spins > 1000 { sched_yield() }
      }
      for _ in 0..<(first % [17, 13][thread]) { _ = arrivals.load(ordering: .relaxed) }
      for index in first..<first + 8 { round(index, thread) }
    }
  }
}

/// Whether `body`, on a thread of its own, returns; a deadlock is a failure of the test rather than of the run.
func returns(within seconds: Double = 20, _ body: @escaping @Sendable () -> Void) -> Bool {
  let done = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    body()
    done.signal()
  }
  return done.wait(timeout: .now() + seconds) == .success
}

/// How many events a race sends in all.
let raceEvents = TestScale.count(10_000, long: 100_000)
