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
    // And with EFBIG, if the file may not be as long.
    signal(SIGXFSZ, SIG_IGN)
    // If a standard stream is closed, the next file opened would take its number, and results could go into a socket.
    // So open the null device there, in the opposite direction, so that writing still fails.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
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
    var text = text
    let code = text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = SystemBase.write(descriptor, rest.baseAddress, rest.count)
        if count >= 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno == EAGAIN {
          var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&entry, 1, -1)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
    guard code == 0 || code == EPIPE else { throw OutputError(code: code) }
    return code == 0
  }
}

/// A write that failed.
package struct OutputError: Error, Equatable {
  /// The system's error number.
  package let code: Int32

  package init(code: Int32) { self.code = code }

  package var message: String { "the output cannot be written: \(String(cString: strerror(code)))" }
}
