import GraphQLGeneration
import SystemBase

/// The folder that files are generated into: what is to be there, and what is there.
final class GenerationOutput {
  private struct File {
    let path: String
    let text: String
    /// Whether it is Swift, of which the first line says whether it may be overwritten.
    let isGenerated: Bool
    /// Where the configuration names it.
    let place: String?
  }

  private let folder: String
  private let place: String?
  private let isOnce: Bool
  private var files: [File] = []

  /// - Parameters:
  ///   - place: Where the configuration names the folder, for errors.
  ///   - isOnce: Whether the files are to be edited: none may be there, and none is removed.
  init(_ folder: String, namedAt place: String?, isOnce: Bool) {
    self.folder = folder.hasSuffix("/") ? folder : folder + "/"
    self.place = place
    self.isOnce = isOnce
  }

  var count: Int { files.count }

  /// Adds a file of the folder.
  func add(_ name: String, _ text: String) {
    files.append(File(path: folder + name, text: text, isGenerated: true, place: place))
  }

  /// Adds another file, which the configuration names at a place.
  func add(path: String, namedAt place: String?, _ text: String) {
    files.append(File(path: path, text: text, isGenerated: false, place: place))
  }

  /// What has to be changed.
  func changes() throws(Failure) -> FileChanges {
    var changes = FileChanges(folder: folder, place: place)
    var paths: Set<[UInt8]> = []
    for file in files {
      guard paths.insert(Array(file.path.utf8)).inserted else {
        throw Failure(exitCode: .cannotWrite, message: "\(file.path): two files would be written to it").at(file.place)
      }
      do throws(Failure) {
        let old = try Self.contents(of: file.path)
        if old == Array(file.text.utf8) { continue }
        try check(file, old)
        changes.written.append(FileChanges.Written(path: file.path, text: file.text, old: old, place: file.place))
      } catch {
        throw error.at(file.place)
      }
    }
    if !isOnce { changes.removed = orphans() }
    return changes
  }

  /// What is in a file; `nil` if nothing is there. What cannot be read may be somebody's work, and is not overwritten.
  private static func contents(of path: String) throws(Failure) -> [UInt8]? {
    do {
      var status = stat()
      guard stat(path, &status) == 0 else { throw SystemError.last }
      guard status.st_mode & S_IFMT == S_IFREG else { throw FileReplacement.NoFile() }
      return try FileDescriptor.contents(of: path)
    } catch {
      if let code = (error as? SystemError)?.code, [ENOENT, ENOTDIR].contains(code) { return nil }
      throw Failure(
        exitCode: .cannotWrite, message: "\(path): it cannot be read, so that it is not overwritten: \(error)")
    }
  }

  /// Throws if a file must not be written in the place of an old one.
  private func check(_ file: File, _ old: [UInt8]?) throws(Failure) {
    // A link that leads nowhere has no contents, and yet is there.
    var status = stat()
    if isOnce, lstat(file.path, &status) == 0 {
      throw Failure(exitCode: .cannotWrite, message: "\(file.path): it is there already")
    }
    if let old, file.isGenerated, !Self.isGenerated(old) {
      throw Failure(
        exitCode: .cannotWrite, message: "\(file.path): it was not generated, so that it is not overwritten")
    }
  }

  private static func isGenerated(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: Generator.marker.utf8)
  }

  /// The files that were generated here before, and are no longer needed.
  private func orphans() -> [String] {
    let needed = Set(files.map(\.path))
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter { $0.hasSuffix(".swift") }.map { folder + $0 }.filter { path in
      !needed.contains(path) && Self.wasGenerated(path)
    }
  }

  /// Whether a file is one that was generated; others are not read, and nobody waits for what a pipe has.
  private static func wasGenerated(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    let start = try? FileDescriptor.contents(of: path, upTo: Generator.marker.utf8.count)
    return start.map(isGenerated) ?? false
  }
}

extension GeneratedFile {
  /// The text without the lines that say that it is generated.
  var textWithoutHead: String {
    String(text.dropFirst(Generator.head.count).drop { $0 == "\n" })
  }

  /// Whether nothing is declared in it.
  var isEmpty: Bool { textWithoutHead.isEmpty }
}
