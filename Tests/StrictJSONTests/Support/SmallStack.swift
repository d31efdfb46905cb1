import Foundation

/// A stack on which 128 levels of usual types are read and written: musl's, and in debug builds one that is four times as
/// large.
enum SmallStack {
  #if DEBUG
    static let size = 512 << 10
  #else
    static let size = 128 << 10
  #endif

  /// Runs a closure on a thread with such a stack, or one of another size, right above memory that ends the process.
  ///
  /// The stack is allocated here, since the system may give a thread one that another thread has left, and that is larger.
  static func run<Value: Sendable>(
    size: Int = size, _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    let guarded = 64 << 10
    guard
      let memory = mmap(
        nil, guarded + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | Int32(MAP_NORESERVE), -1, 0),
      memory != MAP_FAILED, mprotect(memory, guarded, PROT_NONE) == 0
    else { throw POSIXError(.ENOMEM) }
    defer { munmap(memory, guarded + size) }
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    pthread_attr_init(attributes)
    defer {
      pthread_attr_destroy(attributes)
      attributes.deallocate()
    }
    pthread_attr_setstack(attributes, memory + guarded, size)

    let outcome = Outcome<Value>()
    let start = Unmanaged.passRetained(Start { outcome.result = Result { try body() } })
    var thread = pthread_t()
    let code = pthread_create(
      &thread, attributes,
      { start in
        start.map { Unmanaged<Start>.fromOpaque($0).takeRetainedValue().body() }
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw POSIXError(.EAGAIN)
    }
    pthread_join(thread, nil)
    guard let result = outcome.result else { throw CancellationError() }
    return try result.get()
  }

  private final class Start: Sendable {
    let body: @Sendable () -> Void
    init(body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// `@unchecked Sendable`: the thread has written and ended before anybody reads.
  private final class Outcome<Value>: @unchecked Sendable {
    var result: Result<Value, any Error>?
  }
}
