/// A value under a lock. Nothing of the user's may run in `withLock`: no closure, and no last release of a value.
///
/// `@unchecked Sendable`: `value` is touched only while `lock` is held.
@usableFromInline
package final class Guarded<Value>: @unchecked Sendable {
  @usableFromInline var value: Value
  @usableFromInline let lock = Lock()

  @inlinable package init(_ value: Value) { self.value = value }

  @inlinable package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
