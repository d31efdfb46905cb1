import Streams
import SystemBase

/// A file descriptor that text is written to, completely and unbuffered.
struct Output: Sendable {
  static let standardOutput = Output(descriptor: STDOUT_FILENO)
  static let standardError = Output(descriptor: STDERR_FILENO)

  let descriptor: Int32

  /// Call this first in a process.
  static func prepare() {
    // If the reader is gone, a write fails with EPIPE instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    // If a standard stream is closed, the next file opened would take its number, and results could go into a socket.
    // So open the null device there, in the opposite direction, so that writing still fails.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Writes a line for people, ignoring errors.
  func say(_ line: String) { try? write(line + "\n") }

  /// Whether a write would not block.
  var hasRoom: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Emits once when nobody can read any more what is written: the pipe's other end, or the socket's, is closed. A
  /// thread waits for that, until the process ends.
  var end: Observable<Void> {
    .create { [descriptor] observer in
      var status = stat()
      guard fstat(descriptor, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else {
        return Disposables.create()
      }
      _ = ElasticScheduler().schedule {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        while poll(&entry, 1, -1) < 0 && errno == EINTR {}
        observer.onNext(())
      }
      return Disposables.create()
    }
  }

  /// Writes all of the text. If the reader is gone, as with `head`, that is no error.
  func write(_ text: String) throws(OutputError) { _ = try writeToReader(text) }

  /// Writes all of the text; returns whether it has a reader.
  func writeToReader(_ text: String) throws(OutputError) -> Bool {
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
struct OutputError: Error, Equatable {
  /// The system's error number.
  let code: Int32

  var message: String { "the output ended early: \(String(cString: strerror(code)))" }
}

/// Results as one JSON object on one line, for other programs.
enum JSONOutput {
  /// Keys are sorted, values of the server are as received, and `nil` values are left out.
  ///
  /// Characters that could control a terminal or reorder text (control characters, line and paragraph separators,
  /// invisible formatting) are escaped as `\uXXXX`, which JSON parsers decode (RFC 8259, section 7).
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(value), as: UTF8.self)
    var result = ""
    result.reserveCapacity(json.utf8.count + 1)
    // Only the contents of strings can need escaping here: everything else in JSON is printable ASCII.
    for scalar in json.unicodeScalars {
      if isEscaped(scalar) {
        for unit in scalar.utf16 { result += "\\u" + hexadecimal(unit) }
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result + "\n"
  }

  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x7F { return scalar.value < 0x20 }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    // Joiners and tags are parts of emoji, and are kept so that these stay legible.
    case .format: return !(0x200C...0x200D).contains(scalar.value) && !(0xE0020...0xE007F).contains(scalar.value)
    default: return false
    }
  }

  private static func hexadecimal(_ unit: UTF16.CodeUnit) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}
