/// A value behind a lock. What goes in and what comes out is `Sendable`; use `Guarded` for what is not.
package struct Locked<Value: Sendable>: Sendable {
  @usableFromInline let guarded: Guarded<Value>

  @inlinable package init(_ value: Value) {
    guarded = Guarded(value)
  }

  /// Calls a closure with exclusive access to the value; the closure must not call anything that could use this lock
  /// again.
  @inlinable package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try guarded.withLock(body)
  }
}
