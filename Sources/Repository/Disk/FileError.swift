/// A system call that failed.
public struct FileError: Error, Hashable, CustomStringConvertible {
  /// The system's error number.
  public let code: Int32

  /// The call.
  public let call: String

  /// Makes an error.
  package init(code: Int32, call: String) {
    self.code = code
    self.call = call
  }
}
