/// An open file, pipe or terminal. This is only a number: the code that opens it has to close it.
package struct FileDescriptor: Hashable, Sendable {
  package static let standardInput = FileDescriptor(number: STDIN_FILENO)
  package static let standardOutput = FileDescriptor(number: STDOUT_FILENO)
  package static let standardError = FileDescriptor(number: STDERR_FILENO)

  package let number: Int32

  package init(number: Int32) {
    self.number = number
  }

  /// Opens a file with flags of `open(2)`; no child process inherits it. One that is created is for this user alone, or
  /// has a mode, from which the system takes what its mask forbids.
  package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(SystemError) -> FileDescriptor {
    // The system would end the name at a NUL, and open another file.
    guard !path.utf8.contains(0) else { throw SystemError(code: ENOENT) }
    guard let number = retryingOnInterrupt({ Int(SystemBase.open(path, flags | O_CLOEXEC, mode)) }) else { throw .last }
    return FileDescriptor(number: Int32(number))
  }

  /// The bytes of a file or a pipe; of one with more than `limit` bytes, somewhat more than these.
  package static func contents(of path: String, upTo limit: Int = .max) throws(SystemError) -> [UInt8] {
    let file = try open(path, O_RDONLY)
    defer { _ = SystemBase.close(file.number) }
    return try file.readAll(upTo: limit)
  }

  /// Reads to the end, or until there are more bytes than `limit`.
  package func readAll(upTo limit: Int = .max) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count <= limit {
      let count = block.withUnsafeMutableBytes { block in
        retryingOnInterrupt { SystemBase.read(number, block.baseAddress, block.count) }
      }
      guard let count else { throw .last }
      if count == 0 { break }
      bytes += block[..<count]
    }
    return bytes
  }

  /// Writes all bytes, in several calls if necessary; throws a `SystemError`.
  package func writeAll(_ bytes: some ContiguousBytes) throws {
    try bytes.withUnsafeBytes { try writeAll($0) }
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
      if let count = retryingOnInterrupt({ SystemBase.write(number, rest.baseAddress, rest.count) }) {
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      } else if SystemError.last.isBlocked {
        // Another program has made the terminal or the pipe one that does not wait.
        var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else {
        throw .last
      }
    }
  }

  /// Writes all bytes and closes it, even if that fails.
  package func fill(_ bytes: some ContiguousBytes) throws {
    do {
      try writeAll(bytes)
    } catch {
      try? close()
      throw error
    }
    try close()
  }

  /// Closes it; throws if what was written has not reached the file. It is closed even then.
  package func close() throws(SystemError) {
    if SystemBase.close(number) != 0, errno != EINTR { throw .last }
  }
}
