public import Foundation

/// A system call that failed.
public struct FileError: Error, Hashable, CustomStringConvertible {
  /// The system's error number; `ETIMEDOUT` for a lock that another process has held for ten seconds.
  public let code: Int32

  /// The system call's name.
  public let call: String

  /// The name of the file, without its folders; `nil` if the call takes no path.
  public let file: String?

  /// Makes an error.
  public init(code: Int32, call: String, file: String? = nil) {
    self.code = code
    self.call = call
    self.file = file
  }
}

extension FileError: LocalizedError {
  /// The same as `description`: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}
