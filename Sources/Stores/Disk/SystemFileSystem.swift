internal import SystemBase

/// The file system of the machine.
package struct SystemFileSystem: FileSystem {
  package let lockTimeout: Duration

  package init(lockTimeout: Duration = .seconds(10)) { self.lockTimeout = lockTimeout }

  package func open(_ path: String, _ mode: FileMode) throws -> Int32 {
    let flags: Int32 =
      switch mode {
      case .read: O_RDONLY | O_NONBLOCK
      case .create: O_WRONLY | O_CREAT | O_EXCL
      case .append: O_WRONLY | O_APPEND | O_NONBLOCK
      case .lock: O_RDWR | O_CREAT
      case .folder: O_RDONLY | O_DIRECTORY
      }
    let file = try check("open", path) { SystemBase.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    do {
      switch mode {
      case .read, .append: try checkIsFile(file, path)
      // The process's umask may have cleared bits of the mode.
      case .create, .lock: _ = try check("fchmod") { fchmod(file, 0o600) }
      case .folder: break
      }
      return file
    } catch {
      try? close(file)
      throw error
    }
  }

  /// Throws unless this is a regular file: a pipe or a device may block, or never end.
  private func checkIsFile(_ file: Int32, _ path: String) throws {
    var status = stat()
    _ = try check("fstat", path) { fstat(file, &status) }
    let type = status.st_mode & S_IFMT
    if type == S_IFREG { return }
    errno = type == S_IFDIR ? EISDIR : ENOTSUP
    throw error("open", path)
  }

  package func read(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try check("read") { SystemBase.read(file, buffer.baseAddress, buffer.count) }
  }

  package func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws -> Int {
    try check("write") { SystemBase.write(file, bytes.baseAddress, bytes.count) }
  }

  package func sync(_ file: Int32) throws { _ = try check("fsync") { fsync(file) } }

  package func tryLock(_ file: Int32) throws -> Bool {
    do {
      _ = try check("flock") { flock(file, LOCK_EX | LOCK_NB) }
      return true
    } catch let error as FileError where error.code == EWOULDBLOCK {
      return false
    }
  }

  package func close(_ file: Int32) throws {
    // On Linux the descriptor is closed even after EINTR, and its number may be another file's by now: do not retry.
    if SystemBase.close(file) != 0, errno != EINTR { throw FileError(code: errno, call: "close") }
  }

  package func status(of file: Int32) throws -> FileStatus {
    var status = stat()
    _ = try check("fstat") { fstat(file, &status) }
    return FileStatus(status)
  }

  package func touch(_ file: Int32, after time: Int64) throws -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let nanoseconds = max(Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec), time &+ 1)
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let stamp = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
    _ = try check("futimens") { futimens(file, [stamp, stamp]) }
    return try status(of: file).changedAt
  }

  package func status(at path: String) throws -> FileStatus {
    var status = stat()
    _ = try check("lstat", path) { lstat(path, &status) }
    return FileStatus(status)
  }

  package func rename(_ path: String, to target: String) throws {
    _ = try check("rename", target) { SystemBase.rename(path, target) }
  }

  package func remove(_ path: String) throws { _ = try check("unlink", path) { unlink(path) } }

  package func makeFolder(_ path: String) throws -> Bool {
    if mkdir(path, 0o700) == 0 {
      _ = try check("chmod", path) { chmod(path, 0o700) }
      return true
    }
    if errno != EEXIST { throw error("mkdir", path) }
    return false
  }

  package func removeFolder(_ path: String) throws { _ = try check("rmdir", path) { rmdir(path) } }

  package func names(in folder: String) throws -> [String] {
    guard let directory = opendir(folder) else { throw error("opendir", folder) }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        if errno != 0 { throw error("readdir", folder) }
        return names
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  private func check<Result: SignedInteger>(
    _ name: String, _ path: String? = nil, _ call: () -> Result
  ) throws -> Result {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { throw error(name, path) }
    }
  }

  /// The error in `errno`.
  private func error(_ call: String, _ path: String?) -> FileError {
    FileError(code: errno, call: call, file: path.map { $0.split(separator: "/").last.map(String.init) ?? $0 })
  }
}

extension FileStatus {
  fileprivate init(_ status: stat) {
    let time = status.st_mtim
    self.init(size: Int(status.st_size), changedAt: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}

extension FileError {
  /// The call, the file, and the system's text for the error.
  public var description: String {
    let reason = isLockTimeout ? "another process does not give the lock back" : String(cString: strerror(code))
    return "\(file.map { "\(call) \($0)" } ?? call): \(reason)"
  }

  /// Whether another process did not give a lock back in time.
  package var isLockTimeout: Bool { call == "flock" && code == ETIMEDOUT }

  /// Whether there is no such file.
  package var isNotFound: Bool { code == ENOENT }

  /// Whether a folder was to be opened or removed as a file.
  package var isFolder: Bool { code == EISDIR }

  /// Whether there is something else in the place of a file, such as a folder or a link.
  package var isOfAnotherThing: Bool { [EISDIR, ELOOP, ENOTSUP].contains(code) }

  /// Whether the error concerns a single file, so that others may still be readable.
  package var isOfOneFile: Bool { isOfAnotherThing || [EACCES, EPERM, EIO].contains(code) }
}
