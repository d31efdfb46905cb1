import GraphQLGeneration
import SystemBase

/// The folder that files are generated into: what is to be there, and what is there.
final class GenerationOutput {
  private let folder: String
  private let place: String?
  private let isOnce: Bool
  private var files: [(path: String, text: String, isGenerated: Bool, place: String?)] = []

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
  func add(_ name: String, _ text: String) { files.append((folder + name, text, true, place)) }

  /// Adds another file, which the configuration names at a place.
  func add(path: String, namedAt place: String?, _ text: String) { files.append((path, text, false, place)) }

  /// What has to be changed.
  func changes() throws(Failure) -> Changes {
    var changes = Changes(folder: folder, place: place)
    var paths: Set<[UInt8]> = []
    for file in files {
      guard paths.insert(Array(file.path.utf8)).inserted else {
        throw Failure(exitCode: .cannotWrite, message: "\(file.path): two files would be written to it").at(file.place)
      }
      let old = Self.contents(of: file.path)
      if old == Array(file.text.utf8) { continue }
      if let old, file.isGenerated, isOnce || !Self.isGenerated(old) {
        throw Failure(
          exitCode: .cannotWrite,
          message: "\(file.path): "
            + (isOnce ? "it is there already" : "it was not generated, so that it is not overwritten")
        ).at(file.place)
      }
      changes.written.append((file.path, file.text, old, file.place))
    }
    if !isOnce { changes.removed = orphans() }
    return changes
  }

  private static func contents(of path: String) -> [UInt8]? { try? FileDescriptor.contents(of: path) }

  private static func isGenerated(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: Generator.marker.utf8)
  }

  /// The files that were generated here before, and are no longer needed.
  private func orphans() -> [String] {
    let needed = Set(files.map(\.path))
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter { $0.hasSuffix(".swift") }.map { folder + $0 }.filter { path in
      !needed.contains(path) && Self.contents(of: path).map(Self.isGenerated) ?? false
    }
  }

  /// Files that are written or removed, all or none.
  struct Changes {
    let folder: String
    /// Where the configuration names the folder.
    let place: String?
    /// With what was there before, and where the configuration names it.
    var written: [(path: String, text: String, old: [UInt8]?, place: String?)] = []
    var removed: [String] = []

    /// The files that are not up to date.
    var paths: [String] { (written.map(\.path) + removed).sorted() }

    /// Writes new files beside the old ones, and puts them in their places when all are complete. If that fails in the
    /// middle, what was there before is put back.
    func carryOut() throws(Failure) {
      var replacements: [FileReplacement] = []
      var (path, place) = (folder, place)
      do {
        if !written.isEmpty {
          try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        for file in written {
          (path, place) = (file.path, file.place)
          let replacement = try FileReplacement(of: file.path)
          replacements.append(replacement)
          let descriptor = try replacement.create(mode: 0o666)
          defer { try? descriptor.close() }
          try descriptor.writeAll(Array(file.text.utf8))
        }
      } catch {
        for replacement in replacements { replacement.discard() }
        throw Self.failure(path, error).at(place)
      }
      var replaced = 0
      do {
        for (file, replacement) in zip(written, replacements) {
          (path, place) = (file.path, file.place)
          try replacement.replace()
          replaced += 1
        }
        for orphan in removed {
          (path, place) = (orphan, self.place)
          if unlink(orphan) != 0 { throw SystemError.last }
        }
      } catch {
        for replacement in replacements[replaced...] { replacement.discard() }
        for file in written[..<replaced] { Self.restore(file.path, file.old) }
        throw Self.failure(path, error).at(place)
      }
    }

    private static func restore(_ path: String, _ old: [UInt8]?) {
      guard let old else {
        unlink(path)
        return
      }
      guard let file = try? FileDescriptor.open(path, O_WRONLY | O_TRUNC) else { return }
      try? file.writeAll(old)
      try? file.close()
    }

    private static func failure(_ path: String, _ error: any Error) -> Failure {
      // Of a folder that cannot be made, Foundation says the system's reason inside of its own.
      let reason = (error as? CocoaError)?.underlying as? POSIXError
      let error: any Error = reason.map { SystemError(code: $0.code.rawValue) } ?? error
      let code = (error as? SystemError)?.code ?? 0
      let isFailedOutput = [ENOSPC, EDQUOT, EFBIG, EIO].contains(code)
      return Failure(
        exitCode: isFailedOutput ? .outputFailed : .cannotWrite,
        message: "\(path): it cannot be written: \(error); nothing is changed")
    }
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
