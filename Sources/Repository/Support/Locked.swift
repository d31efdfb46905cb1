import Foundation

/// A value behind a lock. Nothing of the user's may run in `withLock`: no closure, and no last release of a value.
///
/// `NSLock` and not `Synchronization.Mutex`, which the thread sanitizer does not understand on Linux.
final class Locked<Value>: @unchecked Sendable {
  // `value` is touched between `lock` and `unlock` alone.
  private let lock = NSLock()
  private var value: Value

  init(_ value: sending Value) {
    self.value = value
  }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
