import Synchronization
import SystemBase

/// A file descriptor with one owner, who alone may close it; any thread may shut it down or write a byte to it.
///
/// A number that was closed is soon another file's, so only the owner uses the number outside the lock.
package final class Descriptor: Sendable {
  private struct State {
    var number: Int32?
    var isShutDown = false
  }

  private let state: Mutex<State>

  /// The descriptor's number, for its owner.
  package let number: Int32

  package init(_ number: Int32) {
    self.number = number
    state = Mutex(State(number: number))
  }

  deinit {
    close()
  }

  /// Whether `shutDown()` was called, which distinguishes our end from the peer's.
  var isShutDown: Bool { state.withLock { $0.isShutDown } }

  /// Ends a socket in both directions, which wakes a thread that waits on it.
  package func shutDown() {
    state.withLock { state in
      state.isShutDown = true
      if let number = state.number { _ = shutdown(number, Int32(SHUT_RDWR)) }
    }
  }

  /// Writes one byte into a pipe, which wakes a thread that polls the other end.
  func writeByte() {
    state.withLock { state in
      var byte: UInt8 = 1
      if let number = state.number { _ = write(number, &byte, 1) }
    }
  }

  /// Closes it, once.
  package func close() {
    state.withLock { state in
      if let number = state.number { _ = SystemBase.close(number) }
      state.number = nil
    }
  }

  /// A pipe. No child process inherits its ends, save one that another thread happens to start at this very moment, and
  /// that does not close what it was not given.
  package static func pipe() throws -> (reader: Descriptor, writer: Descriptor) {
    var ends: [Int32] = [-1, -1]
    try FailedCall.check(SystemBase.pipe(&ends), "pipe")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (Descriptor(ends[0]), Descriptor(ends[1]))
  }
}

/// A system call that failed.
package struct FailedCall: Error, CustomStringConvertible {
  package let call: String
  package let code: Int32

  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String { "\(call): \(String(cString: strerror(code)))" }

  @discardableResult
  package static func check(_ result: Int32, _ call: String) throws -> Int32 {
    guard result >= 0 else { throw FailedCall(call: call, code: errno) }
    return result
  }
}

/// Repeats a system call as long as a signal interrupts it.
package func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}
