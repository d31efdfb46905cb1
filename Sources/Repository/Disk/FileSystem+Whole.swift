internal import Foundation

extension FileSystem {
  /// All bytes of a file; `nil` if it does not exist, or is larger than the limit.
  package func contents(of path: String, limit: Int) throws -> [UInt8]? {
    try reading(path) { file in
      let size = try status(of: file).size
      return size <= limit ? try bytes(of: file, upTo: size) : nil
    }
  }

  /// The first `count` bytes of a file, or all if it is shorter; `nil` if it does not exist.
  package func contents(of path: String, first count: Int) throws -> [UInt8]? {
    try reading(path) { try bytes(of: $0, upTo: count) }
  }

  private func reading(_ path: String, _ body: (_ file: Int32) throws -> [UInt8]?) throws -> [UInt8]? {
    let file: Int32
    do {
      file = try open(path, .read)
    } catch let error as FileError where error.isNotFound {
      return nil
    }
    defer { try? close(file) }
    return try body(file)
  }

  private func bytes(of file: Int32, upTo limit: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      while count < limit {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count..<limit])
        let read = try read(file, rest)
        if read == 0 { return }
        count += read
      }
    }
  }

  /// Removes a file, if it exists. A folder in its place is an error, unless `sparingFolders`: then it is left alone,
  /// as nothing here makes folders in the place of files.
  package func removeIfThere(_ path: String, sparingFolders: Bool = false) throws {
    do {
      try remove(path)
    } catch let error as FileError where error.isNotFound || sparingFolders && error.isFolder {}
  }

  /// Runs a closure with the open folder while holding the lock of its file `lock`, which excludes other threads and
  /// processes. The system releases the lock when a process ends, but not while one is stopped, so the wait is limited:
  /// it throws `ETIMEDOUT`.
  package func withExclusiveAccess<Result>(to path: String, _ body: (_ folder: Int32) throws -> Result) throws -> Result
  {
    let lockFile = try open("\(path)/lock", .lock)
    defer { try? close(lockFile) }
    try waitForLock(lockFile)
    let folder = try open(path, .folder)
    defer { try? close(folder) }
    return try body(folder)
  }

  private func waitForLock(_ file: Int32) throws {
    let deadline = ContinuousClock.now + lockTimeout
    var pause: UInt32 = 50
    // A blocking `flock` has no timeout.
    while try !tryLock(file) {
      if .now >= deadline { throw FileError(code: ETIMEDOUT, call: "flock", file: "lock") }
      usleep(pause)
      pause = min(2 * pause, 1_000)
    }
  }

  /// Writes all bytes, in several calls if necessary.
  package func writeAll(_ bytes: [UInt8], to file: Int32) throws {
    try bytes.withUnsafeBytes { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let count = try write(file, rest)
        guard count > 0 else { throw FileError(code: ENOSPC, call: "write") }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
    }
  }

  /// Creates a folder, and its parents if they do not exist.
  package func makeFolders(_ path: String) throws {
    do {
      try makeFolder(path)
    } catch let error as FileError where error.isNotFound {
      let parent = (path as NSString).deletingLastPathComponent
      guard !parent.isEmpty, parent != path else { throw error }
      try makeFolders(parent)
      try makeFolder(path)
    }
  }
}
