/// The error of a failed system call.
package struct SystemError: Error, Hashable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) {
    self.code = code
  }

  /// The error of the call that has just failed on this thread.
  package static var last: SystemError { SystemError(code: errno) }

  /// The system's message.
  package var description: String { String(cString: strerror(code)) }

  /// Whether the call failed only because it would have had to wait.
  package var isBlocked: Bool { code == EAGAIN || code == EWOULDBLOCK }
}

/// Repeats a call for as long as signals interrupt it; returns `nil` if it failed otherwise, with the cause in `errno`.
package func retryingOnInterrupt(_ call: () -> Int) -> Int? {
  while true {
    let result = call()
    if result >= 0 { return result }
    if errno != EINTR { return nil }
  }
}
