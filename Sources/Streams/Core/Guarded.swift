/// A value under a lock, in one allocation. Nothing of the user's may run in `withLock`: no closure, and no last release of
/// a value.
///
/// `@unchecked Sendable`: the value is touched only while the lock is held.
@usableFromInline
package struct Guarded<Value>: @unchecked Sendable {
  @usableFromInline let storage: ManagedBuffer<Value, Lock>

  @inlinable package init(_ value: Value) {
    storage = GuardedStorage<Value>.create(minimumCapacity: 1) { storage in
      storage.withUnsafeMutablePointerToElements { $0.initialize() }
      return value
    }
  }

  @inlinable package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try storage.withUnsafeMutablePointers { value, lock in
      lock.lock()
      defer { lock.unlock() }
      return try body(&value.pointee)
    }
  }
}
