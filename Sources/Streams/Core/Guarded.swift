/// A value and its lock, in one allocation. No foreign code may run in `withLock`: no closure of the user's, and no
/// last release of a value.
///
/// For values that cannot be sent to other threads. For others, HTTP's `Locked` has the compiler check what goes in and
/// what comes out.
///
/// `@unchecked Sendable`: the value is touched only under the lock.
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
