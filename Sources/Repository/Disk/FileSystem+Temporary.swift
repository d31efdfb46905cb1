internal import Foundation

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

  /// The same up to the renaming: the file is in place if and only if this does not throw, but not yet on the device.
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
