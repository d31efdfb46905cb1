import Dispatch
import Foundation

/// Runs a body on several threads that begin together; returns when all are done.
func race(_ count: Int = 8, _ body: @escaping @Sendable (Int) -> Void) {
  let (ready, done, start) = (DispatchGroup(), DispatchGroup(), DispatchSemaphore(value: 0))
  for index in 0..<count {
    ready.enter()
    done.enter()
    Thread.detachNewThread {
      ready.leave()
      start.wait()
      body(index)
      done.leave()
    }
  }
  ready.wait()
  for _ in 0..<count { start.signal() }
  done.wait()
}
