import SystemBase

/// A file descriptor that text is written to, completely and unbuffered.
package struct Output: Sendable {
  package static let standardOutput = Output(descriptor: STDOUT_FILENO)
  package static let standardError = Output(descriptor: STDERR_FILENO)

  package let descriptor: Int32

  package init(descriptor: Int32) { self.descriptor = descriptor }

  /// Call this first in a process.
  package static func prepare() {
    // If the reader is gone, a write fails with EPIPE instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    FileDescriptor.reserveStandardStreams()
  }

  /// Writes a line for people, ignoring errors.
  package func say(_ line: String) { try? write(line + "\n") }

  /// Whether a write would not block.
  package var hasRoom: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Writes all of the text. If the reader is gone, as with `head`, that is no error.
  package func write(_ text: String) throws(OutputError) { _ = try writeToReader(text) }

  /// Writes all of the text; returns whether it has a reader.
  package func writeToReader(_ text: String) throws(OutputError) -> Bool {
    do {
      try FileDescriptor(number: descriptor).writeAll(Array(text.utf8))
      return true
    } catch {
      let code = (error as? SystemError)?.code ?? EIO
      guard code == EPIPE else { throw OutputError(code: code) }
      return false
    }
  }
}

/// A write that failed.
package struct OutputError: Error, Equatable {
  /// The system's error number.
  package let code: Int32

  package init(code: Int32) { self.code = code }

  package var message: String { "the output cannot be written: \(SystemError(code: code))" }
}
