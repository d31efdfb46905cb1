import Foundation

/// An open file that text is written to, whole and unbuffered.
struct Output: Sendable {
  static let standardOutput = Output(descriptor: STDOUT_FILENO)
  static let standardError = Output(descriptor: STDERR_FILENO)

  let descriptor: Int32

  /// To be called first of all in a process.
  static func prepare() {
    // A reader that went away shows as a failed write.
    signal(SIGPIPE, SIG_IGN)
    // Where a standard stream is closed, the next file takes its number: results could end up in a socket. So the null
    // device takes it, opened the other way round, that writing may still fail.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Writes a line for people; where nobody can read it, that is all right.
  func say(_ line: String) { try? write(line + "\n") }

  /// Whether a line can be written at once.
  var hasRoom: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Writes all of the text. A reader that went away, as `head` does, has what it wants: that is no error.
  func write(_ text: String) throws(OutputError) {
    var text = text
    let code = text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
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
  }
}
