/// The calls that files take, one by one: the seam where tests let each of them fail.
///
/// Each throws a ``FileError`` with the system's error number.
package protocol FileSystem: Sendable {
  /// Opens a file that is not a link; it closes when another program is executed.
  func open(_ path: String, _ mode: FileMode) throws -> Int32

  /// Reads at most as many bytes as fit, and gives their number; 0 at the end.
  func read(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  /// Writes at most these bytes, and gives how many it were.
  func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws -> Int

  /// Returns when what was written is on the device.
  func sync(_ file: Int32) throws

  /// How long a lock is waited for.
  var lockTimeout: Duration { get }

  /// Takes the file's lock unless somebody has it, in this process or another; says whether it did. Closing gives it back.
  func tryLock(_ file: Int32) throws -> Bool

  func close(_ file: Int32) throws

  /// Size, and time of the last change, of a file that is open.
  func status(of file: Int32) throws -> FileStatus

  /// Sets the time of last change to now, or to a nanosecond after another time where now is not after it; gives what
  /// the file system made of it. So changes can be told apart, and put in order, that are nearer than the clock's
  /// ticks.
  func touch(_ file: Int32, after time: Int64) throws -> Int64

  /// Size, and time of the last change, by a path.
  func status(at path: String) throws -> FileStatus

  func rename(_ path: String, to target: String) throws

  func remove(_ path: String) throws

  /// Makes a folder that only its owner may use, unless there is a folder already.
  func makeFolder(_ path: String) throws

  /// The names in a folder.
  func names(in folder: String) throws -> [String]
}
