import Foundation
import Glibc
import LoopbackServers

extension ChildProcess {
  static func environment(changedBy changes: [String: String?]) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MOMENTS_") }
    for (name, value) in changes { environment[name] = value }
    return environment
  }

  static func openInput(_ input: Input) throws -> (reader: Descriptor, writer: Descriptor?) {
    switch input {
    case .none: (Descriptor(try FailedCall.check(open("/dev/null", O_RDONLY | O_CLOEXEC), "open")), nil)
    case .bytes, .open: try Descriptor.pipe()
    }
  }

  static func openOutput(_ kind: OutputKind) throws -> (reader: Descriptor, writer: Descriptor) {
    switch kind {
    case .pipe: try Descriptor.pipe()
    case .terminal(let columns): try Descriptor.terminal(columns: columns)
    }
  }

  /// Reads both streams until both have ended.
  static func collect(output: Descriptor, errors: Descriptor, into state: Monitor<State>) {
    var entries = [output, errors].map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    while entries.contains(where: { $0.fd >= 0 }) {
      _ = retryingOnInterrupt { poll(&entries, 2, -1) }
      for (index, descriptor) in [output, errors].enumerated() where entries[index].revents != 0 {
        let bytes = descriptor.read()
        if bytes.isEmpty {
          entries[index].fd = -1  // poll passes over it
          entries[index].revents = 0
        } else {
          state.update { index == 0 ? ($0.output += bytes) : ($0.errors += bytes) }
        }
      }
    }
    output.close()
    errors.close()
  }
}

extension Descriptor {
  /// The next bytes of a pipe or terminal; none at its end, which a terminal tells by an error.
  fileprivate func read() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, retryingOnInterrupt { Glibc.read(number, buffer.baseAddress, buffer.count) })
    }
  }

  /// Writes all bytes and closes, on a thread of its own; a program that reads no more ends it.
  func writeAllAndClose(_ bytes: [UInt8]) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(Int32(SIG_BLOCK), &signals, nil)  // EPIPE instead; the signal would go to this thread
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { buffer in
        retryingOnInterrupt { Glibc.write(number, buffer.baseAddress, buffer.count) }
      }
      if written <= 0 { break }
      rest = rest.dropFirst(written)
    }
    close()
  }

  /// A terminal: what is written to the second end is read from the first.
  fileprivate static func terminal(columns: UInt16) throws -> (reader: Descriptor, writer: Descriptor) {
    // openpt(3) and its kin in terms of Linux's own calls, as the C library's module does not show them.
    let reader = Descriptor(try FailedCall.check(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open"))
    var locked: Int32 = 0
    try FailedCall.check(ioctl(reader.number, 0x4004_5431 /* TIOCSPTLCK */, &locked), "ioctl")
    var number: Int32 = 0
    try FailedCall.check(ioctl(reader.number, 0x8004_5430 /* TIOCGPTN */, &number), "ioctl")
    var size = winsize(ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    try FailedCall.check(ioctl(reader.number, UInt(TIOCSWINSZ), &size), "ioctl")
    let name = "/dev/pts/\(number)"
    let writer = Descriptor(try FailedCall.check(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), "open"))
    return (reader, writer)
  }
}
