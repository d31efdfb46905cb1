import Foundation
import LoopbackServers

/// Runs a body on several threads of their own that begin together, and waits until all are done.
///
/// - Throws: `TimedOut` when they are not after five minutes, as where they wait for each other.
package func race(
  _ count: Int = 8, file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Int) -> Void
) throws {
  let (ready, start, done) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchGroup())
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
  guard done.wait(timeout: .now() + 300) == .success else {
    throw TimedOut(
      what: "\(count) threads", limit: .seconds(300), state: "not all are done", location: "\(file):\(line)")
  }
}
