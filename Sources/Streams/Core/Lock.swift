#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A mutex at a fixed address. `Synchronization.Mutex` would do, but the thread sanitizer does not see it on Linux.
@usableFromInline
struct Lock {
  private let mutex = pthread_mutex_t()
}

extension UnsafeMutablePointer<Lock> {
  @usableFromInline func initialize() {
    initialize(to: Lock())
    pthread_mutex_init(mutex, nil)
  }

  @usableFromInline func destroy() { pthread_mutex_destroy(mutex) }

  @usableFromInline func lock() { pthread_mutex_lock(mutex) }

  @usableFromInline func unlock() { pthread_mutex_unlock(mutex) }

  private var mutex: UnsafeMutablePointer<pthread_mutex_t> {
    UnsafeMutableRawPointer(self).assumingMemoryBound(to: pthread_mutex_t.self)
  }
}
