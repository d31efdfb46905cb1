/// An invalid command line or environment variable.
struct UsageError: Error, Equatable {
  /// What is wrong, where, and what to do about it; never a value that may be a secret.
  let message: String

  init(_ message: String) {
    self.message = message
  }
}
