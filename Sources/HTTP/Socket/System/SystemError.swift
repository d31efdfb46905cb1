import Foundation

/// The error of a failed system call.
struct SystemError: Error, Hashable, CustomStringConvertible {
  let code: Int32

  /// The error of the call that has just failed on this thread.
  static var last: SystemError { SystemError(code: errno) }

  /// The system's message.
  var description: String { String(cString: strerror(code)) }

  /// Whether the call failed only because it would have had to wait.
  var isBlocked: Bool { code == EAGAIN || code == EWOULDBLOCK }

  /// Whether this machine or process lacks descriptors, ports or memory for another socket.
  var isShortage: Bool { [EMFILE, ENFILE, ENOBUFS, EADDRNOTAVAIL].contains(code) }
}

/// Repeats a call for as long as signals interrupt it; returns `nil` if it failed otherwise, with the cause in `errno`.
func retryingOnInterrupt(_ call: () -> Int) -> Int? {
  while true {
    let result = call()
    if result >= 0 { return result }
    if errno != EINTR { return nil }
  }
}
