import Glibc

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
