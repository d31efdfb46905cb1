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

  /// Creates a folder that only its owner may use, unless it exists.
  func makeFolder(_ path: String) throws

  /// The names in a folder.
  func names(in folder: String) throws -> [String]
}
