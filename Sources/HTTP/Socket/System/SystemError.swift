import Foundation

/// A system call that failed.
struct SystemError: Error, Hashable, CustomStringConvertible {
  let code: Int32

  /// The error of the call that has just failed on this thread.
  static var last: SystemError { SystemError(code: errno) }

  /// What the system says of it.
  var description: String { String(cString: strerror(code)) }

  /// Whether the call would only have had to wait.
  var isBlocked: Bool { code == EAGAIN || code == EWOULDBLOCK }
}

/// Calls again for as long as a signal interrupts; `nil` where the call failed, with the cause in `errno`.
func retryingOnInterrupt(_ call: () -> Int) -> Int? {
  while true {
    let result = call()
    if result >= 0 { return result }
    if errno != EINTR { return nil }
  }
}
