import Dispatch
import Foundation
import Streams

/// Runs a body repeatedly on several threads, which begin together and continue until each has finished its rounds, so
/// that all of them overlap, even on one core. Returns when all have finished.
func onThreads(_ count: Int, rounds: Int, _ body: @escaping @Sendable (_ thread: Int, _ round: Int) -> Void) {
  let (ready, done, start) = (DispatchGroup(), DispatchGroup(), DispatchSemaphore(value: 0))
  let unfinished = Guarded(count)
  for thread in 0..<count {
    ready.enter()
    done.enter()
    Thread.detachNewThread {
      ready.leave()
      start.wait()
      var round = 0
      while round < rounds || unfinished.withLock({ $0 > 0 }) {
        body(thread, round)
        round += 1
        if round == rounds { unfinished.withLock { $0 -= 1 } }
      }
      done.leave()
    }
  }
  ready.wait()
  for _ in 0..<count { start.signal() }
  done.wait()
}
