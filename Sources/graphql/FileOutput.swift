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
      try Self.fill(FileDescriptor.open(path, O_WRONLY | O_TRUNC), with: bytes)
    } catch {
      let failedCodes = [ENOSPC, EDQUOT, EFBIG, EIO, EPIPE]
      let isFailedOutput = (error as? SystemError).map { failedCodes.contains($0.code) } ?? false
      throw Failure(
        exitCode: isFailedOutput ? .outputFailed : .cannotWrite, message: "\(path): it cannot be written: \(error)")
    }
  }

  /// Replaces a file by a new one; returns whether that is possible.
  private static func replace(_ path: String, with bytes: [UInt8]) throws -> Bool {
    guard let replacement = try? FileReplacement(of: path), !replacement.hasOtherNames else { return false }
    // The rights of its folder do not allow to change a file that may only be read.
    guard access(path, W_OK) == 0 || errno == ENOENT else { throw SystemError.last }
    do {
      try fill(replacement.create(mode: 0o666), with: bytes)
      try replacement.replace()
      return true
    } catch {
      replacement.discard()
      let code = (error as? SystemError)?.code ?? 0
      guard access(path, F_OK) == 0, [EACCES, EPERM, EROFS, EBUSY].contains(code) else { throw error }
      return false
    }
  }

  /// Writes a file that was opened, and closes it.
  private static func fill(_ file: FileDescriptor, with bytes: [UInt8]) throws {
    do {
      try file.writeAll(bytes)
    } catch {
      try? file.close()
      throw error
    }
    try file.close()
  }
}
