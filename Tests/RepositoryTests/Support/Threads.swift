import Dispatch
import Foundation
import TestSupport
import Testing

/// Runs a body on several threads that begin together; returns when all are done, or have had time enough to be.
func race(
  _ count: Int = 8, sourceLocation: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable (Int) -> Void
) {
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
  let limit = DispatchTimeInterval.seconds(TestScale.count(30, long: 300))
  #expect(done.wait(timeout: .now() + limit) == .success, "Not all threads are done.", sourceLocation: sourceLocation)
}
