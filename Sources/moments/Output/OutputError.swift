import Foundation

/// A write that failed.
struct OutputError: Error, Equatable {
  /// The system's error number.
  let code: Int32

  var message: String { "the output ended early: \(String(cString: strerror(code)))" }
}
