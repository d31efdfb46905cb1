#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A value under a lock. Nothing of the user's may run in `withLock`: no closure, and no last release of a value.
///
/// `Synchronization.Mutex` would do, but the thread sanitizer does not see it on Linux. `@unchecked Sendable`: `value` is
/// touched only while `mutex` is held.
final class Guarded<Value>: @unchecked Sendable {
  private var value: Value
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  init(_ value: Value) {
    self.value = value
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

/// Puts `new` in the place of a value, and gives the old one.
func exchange<Value>(_ value: inout Value, with new: Value) -> Value {
  let old = value
  value = new
  return old
}
