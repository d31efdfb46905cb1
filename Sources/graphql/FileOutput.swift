import GraphQLCommandLine
import SystemBase

extension GraphQLCommand {
  /// Writes a file as a whole, or to standard output for `-`.
  ///
  /// A regular file is replaced once the new one is complete, and keeps its owner and mode; a symbolic link stays. What
  /// cannot be replaced is written in place: a device, a pipe, a file with several names, and one whose folder allows no
  /// new files.
  func write(_ text: String, to path: String) throws(Failure) {
    if path == "-" { return try console.write(text) }
    let bytes = Array(text.utf8)
    do {
      guard try !Self.replace(path, with: bytes) else { return }
      let writeInPlace = { try FileDescriptor.open(path, O_WRONLY | O_TRUNC).fill(bytes) }
      // Of a pipe, nobody may be reading.
      var status = stat()
      let isRegular = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      if isRegular { try DeferredSignals.during(writeInPlace) } else { try writeInPlace() }
    } catch {
      throw Failure(writing: path, error)
    }
  }

  /// Writes JSON to a file, or to standard output for `-`, where nothing in it can control a terminal.
  func write(json: Data, to path: String) throws(Failure) {
    if path == "-" { return try console.writeJSON(json) }
    try write(String(decoding: json, as: UTF8.self), to: path)
  }

  /// Replaces a file by a new one; returns whether that is possible.
  private static func replace(_ path: String, with bytes: [UInt8]) throws -> Bool {
    guard let replacement = try? FileReplacement(of: path), !replacement.hasOtherNames else { return false }
    return try DeferredSignals.during {
      do {
        try replacement.write(bytes, mode: 0o666)
        try replacement.replace()
        return true
      } catch {
        replacement.discard()
        let code = (error as? SystemError)?.code ?? 0
        guard access(path, F_OK) == 0, [EACCES, EPERM, EROFS, EBUSY].contains(code) else { throw error }
        return false
      }
    }
  }
}
