import Glibc

/// A system call that failed.
struct SystemError: Error, CustomStringConvertible {
  let call: String
  let code: Int32

  var description: String { "\(call): \(String(cString: strerror(code)))" }

  @discardableResult
  static func check(_ result: Int32, _ call: String) throws -> Int32 {
    guard result >= 0 else { throw SystemError(call: call, code: errno) }
    return result
  }
}

/// Repeats a system call as long as a signal interrupts it.
func retryingOnInterrupt<Result: SignedInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}
