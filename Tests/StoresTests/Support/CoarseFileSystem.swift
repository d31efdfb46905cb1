import Stores

/// The machine's file system, as one that stores times of two seconds: those between are rounded down.
struct CoarseFileSystem: FileSystem {
  private let real = SystemFileSystem()

  var lockTimeout: Duration { real.lockTimeout }

  func status(of file: Int32) throws -> FileStatus { Self.rounded(try real.status(of: file)) }
  func status(at path: String) throws -> FileStatus { Self.rounded(try real.status(at: path)) }
  func touch(_ file: Int32, after time: Int64) throws -> Int64 { Self.rounded(try real.touch(file, after: time)) }

  private static func rounded(_ status: FileStatus) -> FileStatus {
    FileStatus(size: status.size, changedAt: rounded(status.changedAt))
  }

  private static func rounded(_ time: Int64) -> Int64 { time - time % 2_000_000_000 }

  func open(_ path: String, _ mode: FileMode) throws -> Int32 { try real.open(path, mode) }
  func read(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int { try real.read(file, buffer) }
  func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws -> Int { try real.write(file, bytes) }
  func sync(_ file: Int32) throws { try real.sync(file) }
  func tryLock(_ file: Int32) throws -> Bool { try real.tryLock(file) }
  func close(_ file: Int32) throws { try real.close(file) }
  func rename(_ path: String, to target: String) throws { try real.rename(path, to: target) }
  func remove(_ path: String) throws { try real.remove(path) }
  func makeFolder(_ path: String) throws -> Bool { try real.makeFolder(path) }
  func removeFolder(_ path: String) throws { try real.removeFolder(path) }
  func names(in folder: String) throws -> [String] { try real.names(in: folder) }
}
