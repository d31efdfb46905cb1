import Foundation

/// A value behind a lock.
///
/// `NSLock` and not `Synchronization.Mutex`, which the thread sanitizer of Swift 6.3 does not understand.
package final class Locked<Value: Sendable>: @unchecked Sendable {
  // `value` is touched between `lock` and `unlock` alone, and it can be sent itself.
  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) {
    self.value = value
  }

  /// Runs a closure with the value to itself; it must not call anything that could come back here.
  package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
