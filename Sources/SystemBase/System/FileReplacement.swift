/// A new file that takes the place of another once it is complete, so that nobody reads a part of it.
///
/// It is for those who may read and write the old one. A symbolic link stays, and what it names is replaced.
package struct FileReplacement {
  /// What stands there cannot be replaced: a folder, a device or a pipe.
  package struct NoFile: Error, CustomStringConvertible {
    package init() {}

    package var description: String { "it is no regular file" }
  }

  /// The path of the new file until it stands in the place of the old one.
  package let part: String
  private let path: String
  private let old: stat?

  private static let mostLinks = 40

  /// Follows symbolic links, also one to a file that does not exist. A file that may only be read is refused: the rights
  /// of its folder alone would allow to replace it.
  package init(of path: String) throws {
    // Of the path as it is given: links such as /dev/stdout lead where no path does.
    var status = stat()
    let exists = stat(path, &status) == 0
    guard exists || errno == ENOENT else { throw SystemError.last }
    guard !exists || status.st_mode & S_IFMT == S_IFREG else { throw NoFile() }
    guard !exists || access(path, W_OK) == 0 else { throw SystemError.last }
    var path = path
    for _ in 0..<Self.mostLinks {
      guard let link = Self.link(at: path) else { break }
      path = link.hasPrefix("/") ? link : Self.folder(of: path) + link
    }
    self.path = path
    old = exists ? status : nil
    part = Self.hiddenPath(beside: path)
  }

  /// A path in the folder of another one that nothing has.
  package static func hiddenPath(beside path: String) -> String {
    // Not derived from the file's name, which may already be as long as the file system allows.
    folder(of: path) + ".\(UInt64.random(in: .min ... .max)).part"
  }

  private static func link(at path: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = bytes.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { buffer in
        buffer.baseAddress.map { readlink(path, $0, buffer.count) } ?? -1
      }
    }
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  /// What comes before the last component.
  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
  }

  /// Whether the old file has other names, which would keep its contents.
  package var hasOtherNames: Bool { old.map { $0.st_nlink > 1 } ?? false }

  /// Creates the new file; if there is no old one, with a mode, from which the system takes what its mask forbids.
  package func create(mode: mode_t = 0o600) throws(SystemError) -> FileDescriptor {
    guard let old else { return try FileDescriptor.open(part, O_WRONLY | O_CREAT | O_EXCL, mode: mode) }
    let file = try FileDescriptor.open(part, O_WRONLY | O_CREAT | O_EXCL)
    var mode = old.st_mode & 0o777
    // Without the right to give it to the group, this process's own group must not get the group's rights.
    if fchown(file.number, old.st_uid, old.st_gid) != 0, fchown(file.number, uid_t.max, old.st_gid) != 0 {
      mode &= ~0o070
    }
    _ = fchmod(file.number, mode)
    return file
  }

  /// Creates the new file with all of its bytes. If that fails, nothing stays of it.
  package func write(_ bytes: some ContiguousBytes, mode: mode_t = 0o600) throws {
    let file = try create(mode: mode)
    do {
      try file.fill(bytes)
    } catch {
      discard()
      throw error
    }
  }

  /// Puts the new file into the place of the old one.
  package func replace() throws(SystemError) {
    guard rename(part, path) == 0 else { throw .last }
  }

  /// Removes the new file.
  package func discard() { unlink(part) }

  /// Puts back what was there before `replace()`: a file with these bytes, or none.
  package func restore(_ bytes: [UInt8]?) throws {
    guard let bytes else {
      if unlink(path) != 0 { throw SystemError.last }
      return
    }
    try write(bytes)
    do {
      try replace()
    } catch {
      discard()
      throw error
    }
  }
}
