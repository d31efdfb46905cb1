import Foundation
import Synchronization

/// Runs `body` on `count` threads of their own, which start together, and waits for all of them.
func race(_ count: Int = 8, _ body: @escaping @Sendable (Int) -> Void) {
  let ready = DispatchSemaphore(value: 0)
  let start = DispatchSemaphore(value: 0)
  let done = DispatchGroup()
  for index in 0..<count {
    done.enter()
    Thread.detachNewThread {
      ready.signal()
      start.wait()
      body(index)
      done.leave()
    }
  }
  for _ in 0..<count { ready.wait() }
  for _ in 0..<count { start.signal() }
  done.wait()
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

/// How many events a race sends in all; the sanitizers make each of them dear.
let raceEvents = 100_000
