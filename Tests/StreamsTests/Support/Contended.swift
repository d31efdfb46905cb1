import Foundation
import Synchronization
import Testing

/// A lock of the user's, which code of the user's wants that another thread runs.
final class Contended: Sendable {
  private let lock = NSLock()
  private let isWanted = DispatchSemaphore(value: 0)
  private let isFirst = Atomic(true)

  /// Waits for the lock, the first time.
  func want() {
    if !isFirst.exchange(false, ordering: .relaxed) { return }
    isWanted.signal()
    lock.withLock {}
  }

  /// Holds the lock until `work`, on a thread of its own, wants it, and expects that `others` return all the same.
  func expectNoLock(over work: @escaping @Sendable () -> Void, others: @escaping @Sendable () -> Void) {
    lock.lock()
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      work()
      done.signal()
    }
    #expect(isWanted.wait(timeout: .now() + 20) == .success)
    let isFree = returns(others)
    lock.unlock()
    #expect(isFree)
    #expect(done.wait(timeout: .now() + 20) == .success)
  }
}
