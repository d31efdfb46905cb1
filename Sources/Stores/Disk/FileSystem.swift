public import SystemBase

/// The system calls for files, one by one: the seam where tests make each of them fail.
///
/// Each throws a ``FileError`` with the system's error number.
package protocol FileSystem: Sendable {
  /// Opens a file, unless it is a symbolic link, or is to be read and is not a regular file; it is closed on `exec`.
  func open(_ path: String, _ mode: FileMode) throws -> Int32

  /// Reads at most as many bytes as fit into the buffer; returns their number, 0 at the end of the file.
  func read(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  /// Writes some or all of these bytes; returns how many.
  func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws -> Int

  /// Returns when everything written is on the device.
  func sync(_ file: Int32) throws

  /// How long to wait for a lock.
  var lockTimeout: Duration { get }

  /// Takes the file's lock, unless it is held elsewhere in this process or in another; returns whether it did. Closing
  /// the file releases it.
  func tryLock(_ file: Int32) throws -> Bool

  func close(_ file: Int32) throws

  /// The size and modification time of an open file.
  func status(of file: Int32) throws -> FileStatus

  /// Sets the modification time to now, or to a nanosecond after `time` if that is later; returns the time as the file
  /// system stored it. So changes that are closer than the clock's ticks still have distinct, ordered times.
  func touch(_ file: Int32, after time: Int64) throws -> Int64

  /// The size and modification time of the file at a path.
  func status(at path: String) throws -> FileStatus

  func rename(_ path: String, to target: String) throws

  func remove(_ path: String) throws

  /// Creates a folder that only its owner may use, unless it exists; returns whether it did.
  func makeFolder(_ path: String) throws -> Bool

  /// Removes an empty folder.
  func removeFolder(_ path: String) throws

  /// The names in a folder.
  func names(in folder: String) throws -> [String]
}

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

  /// Makes a modification time greater than it was, also where a file system stores no nanoseconds; returns it, or `nil` if
  /// it could not.
  package func touchLater(_ file: Int32, after time: Int64) -> Int64? {
    // Some store as little as two seconds.
    for step in [1, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000] as [Int64] {
      guard let stored = try? touch(file, after: time &+ step &- 1) else { return nil }
      if stored > time { return stored }
    }
    return nil
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
  /// - Parameter timeout: How long to wait; the file system's `lockTimeout` by default.
  package func withExclusiveAccess<Result>(
    to path: String, within timeout: Duration? = nil, _ body: (_ folder: Int32) throws -> Result
  ) throws -> Result {
    let lockFile = try open("\(path)/lock", .lock)
    defer { try? close(lockFile) }
    try waitForLock(lockFile, timeout ?? lockTimeout)
    let folder = try open(path, .folder)
    defer { try? close(folder) }
    return try body(folder)
  }

  private func waitForLock(_ file: Int32, _ timeout: Duration) throws {
    let deadline = ContinuousClock.now + timeout
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

  /// Creates a folder, and its parents if they do not exist; each new one is on the device when this returns (D1).
  package func makeFolders(_ path: String) throws {
    do {
      try makeAndSyncFolder(path)
    } catch let error as FileError where error.isNotFound {
      guard let parent = parent(of: path) else { throw error }
      try makeFolders(parent)
      try makeAndSyncFolder(path)
    }
  }

  private func makeAndSyncFolder(_ path: String) throws {
    guard try makeFolder(path) else { return }
    do {
      try syncFolder(around: path)
    } catch {
      // So that the next call makes and syncs it.
      try? removeFolder(path)
      throw error
    }
  }

  private func syncFolder(around path: String) throws {
    let parent: Int32
    do {
      parent = try open("\(path)/..", .folder)
    } catch let error as FileError where error.code == EACCES {
      // One that may be entered but not read cannot be synced.
      return
    }
    defer { try? close(parent) }
    try sync(parent)
  }
}

/// The path of the folder around a file or folder; `nil` for the root, and for a name alone.
private func parent(of path: String) -> String? {
  let slash = UInt8(ascii: "/")
  let name = path.utf8.lastIndex { $0 != slash }.flatMap { path.utf8[...$0].lastIndex(of: slash) }
  guard let name else { return nil }
  return path.utf8[..<name].lastIndex { $0 != slash }.map { String(path[...$0]) } ?? "/"
}

private let temporaryPrefix = "temporary-"

// To be called under the folder's lock (`withExclusiveAccess`), which every writer of a temporary file holds.
extension FileSystem {
  /// Replaces a file of the folder at `path` atomically (D1): writes a temporary file in the same folder, syncs it to
  /// the device, renames it, and syncs the folder.
  ///
  /// The file's modification time is set later than `time`.
  package func replace(
    _ name: String, in folder: Int32, at path: String, with bytes: [UInt8], after time: Int64 = 0
  ) throws {
    try place(name, in: path, with: bytes, after: time)
    try sync(folder)
  }

  /// Replaces a file up to the renaming: it is in place if and only if this does not throw, but not yet on the device.
  package func place(_ name: String, in path: String, with bytes: [UInt8], after time: Int64 = 0) throws {
    let temporary = "\(path)/\(temporaryPrefix)\(getpid())"
    try removeIfThere(temporary, sparingFolders: true)
    let file = try open(temporary, .create)
    do {
      do {
        try writeAll(bytes, to: file)
        _ = try touch(file, after: time)
        try sync(file)
      } catch {
        try? close(file)
        throw error
      }
      try close(file)
      try rename(temporary, to: "\(path)/\(name)")
    } catch {
      try? remove(temporary)
      throw error
    }
  }

  /// Removes the temporary files in the folder at `path`: their writers held the lock that is held here, so they have
  /// ended.
  package func removeTemporaryFiles(in path: String) throws {
    for name in try names(in: path) where name.hasPrefix(temporaryPrefix) {
      try removeIfThere("\(path)/\(name)", sparingFolders: true)
    }
  }
}

/// How a file is opened.
package enum FileMode: Sendable {
  /// For reading.
  case read
  /// For writing; the file must not exist, and only its owner may use it.
  case create
  /// For writing at its end; the file must exist.
  case append
  /// For its lock; created if it does not exist, and only its owner may use it.
  case lock
  /// A folder.
  case folder
}

/// A file's size and time of last change.
package struct FileStatus: Hashable, Sendable {
  package var size: Int
  /// The time of the last change, in nanoseconds since 1970.
  package var changedAt: Int64

  package init(size: Int, changedAt: Int64) {
    self.size = size
    self.changedAt = changedAt
  }
}

/// A system call that failed.
public struct FileError: Error, Hashable, CustomStringConvertible {
  /// The system's error number; `ETIMEDOUT` for a lock that another process has held for ten seconds.
  public let code: Int32

  /// The system call's name.
  public let call: String

  /// The name of the file, without its folders; `nil` if the call takes no path.
  public let file: String?

  /// An error with the `errno` that a system call has left, for a file system of one's own.
  public init(code: Int32, call: String, file: String? = nil) {
    self.code = code
    self.call = call
    self.file = file
  }
}

extension FileError: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}
