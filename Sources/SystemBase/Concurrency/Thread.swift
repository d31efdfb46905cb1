import CLinux

/// Starts a thread that runs a closure and then ends; without a size, its stack has the system's. Tools show the name,
/// Linux's the first 15 bytes of it. Throws if the system cannot create a thread, for instance at a limit on processes,
/// which Foundation's threads would not report.
package func startThread(
  named name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
) throws(SystemError) {
  let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
  pthread_attr_init(attributes)
  defer {
    pthread_attr_destroy(attributes)
    attributes.deallocate()
  }
  pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
  if let stackSize { pthread_attr_setstacksize(attributes, stackSize) }

  let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
  // A number in glibc, and a pointer elsewhere.
  #if canImport(Glibc)
    var thread = pthread_t()
  #else
    var thread: pthread_t?
  #endif
  #if canImport(Darwin)
    let code = pthread_create(&thread, attributes, { ThreadStart.run($0) }, start.toOpaque())
  #else
    let code = pthread_create(&thread, attributes, { $0.flatMap(ThreadStart.run) }, start.toOpaque())
  #endif
  guard code == 0 else {
    start.release()
    throw SystemError(code: code)
  }
}

/// The argument of a new thread.
private final class ThreadStart {
  private let name: String
  private let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }

  static func run(_ retained: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    let start = Unmanaged<ThreadStart>.fromOpaque(retained).takeRetainedValue()
    #if canImport(Darwin)
      pthread_setname_np(start.name)
    #else
      clinux_name_thread(start.name)
    #endif
    start.body()
    return nil
  }
}

/// The addresses of the calling thread's stack; `nil` if the system does not say.
package func stackOfThread() -> Range<UInt>? {
  #if canImport(Darwin)
    let isMain = pthread_main_np() != 0
  #else
    let isMain = clinux_is_main_thread() != 0
  #endif
  return isMain ? stackOfMainThread : lookForStack()
}

// It does not move, and Linux reads the process's memory map for it.
private let stackOfMainThread = lookForStack()

private func lookForStack() -> Range<UInt>? {
  #if canImport(Darwin)
    let end = UInt(bitPattern: pthread_get_stackaddr_np(pthread_self()))
    return end - UInt(pthread_get_stacksize_np(pthread_self()))..<end
  #else
    var low: UInt = 0
    var size = 0
    guard clinux_stack(&low, &size) == 0, size > 0 else { return nil }
    return low..<low + UInt(size)
  #endif
}
