import SystemBase

/// Files that are written and removed: all of them, or none.
struct FileChanges {
  /// A file that is written.
  struct Written {
    let path: String
    let text: String
    /// What is there before; `nil` for nothing.
    let old: [UInt8]?
    /// Where the configuration names it.
    let place: String?
  }

  /// The folder that is made if it is not there, with a slash at its end.
  let folder: String
  /// Where the configuration names the folder.
  let place: String?
  var written: [Written] = []
  /// Files of the folder.
  var removed: [String] = []

  /// The files that are not up to date.
  var paths: [String] { (written.map(\.path) + removed).sorted() }

  /// Writes new files beside the old ones, and puts them in their places when all are complete. If that fails in the
  /// middle, what was there before is put back.
  func carryOut() throws(Failure) {
    try DeferredSignals.during { () throws(Failure) in
      let steps = try prepared()
      for (index, step) in steps.enumerated() {
        do {
          try step.carryOut()
        } catch {
          for rest in steps[index...].reversed() { rest.discard() }
          let left = steps[..<index].reversed().filter { !$0.isUndone() }
          throw Failure(writing: step.path, error, leaving: left.map(\.path)).at(step.place)
        }
      }
      for step in steps { step.finish() }
    }
  }

  /// What has to be done when the new files are complete.
  private func prepared() throws(Failure) -> [Step] {
    var steps: [Step] = []
    var (path, place) = (folder, self.place)
    do {
      for folder in written.isEmpty ? [] : missingFolders {
        if mkdir(folder, 0o777) == 0 {
          steps.append(Step(.folder, folder, self.place))
        } else if errno != EEXIST {
          // The path "a//b" names "a" twice.
          throw SystemError.last
        }
      }
      for file in written {
        (path, place) = (file.path, file.place)
        let replacement = try FileReplacement(of: path)
        try replacement.write(Array(file.text.utf8), mode: 0o666)
        steps.append(Step(.replacement(replacement, old: file.old), path, place))
      }
    } catch {
      for step in steps.reversed() { step.discard() }
      throw Failure(writing: path, error, leaving: []).at(place)
    }
    return steps + removed.map { Step(.removal(aside: FileReplacement.hiddenPath(beside: $0)), $0, self.place) }
  }

  /// The folder and those above it, from the top, as far as they are not there.
  private var missingFolders: [String] {
    folder.indices.filter { folder[$0] == "/" && $0 > folder.startIndex }.map { String(folder[..<$0]) }
      .filter { access($0, F_OK) != 0 }
  }
}

/// What is done to one path.
private struct Step {
  enum Kind {
    /// The folder has been made.
    case folder
    /// The new file takes the place of the old one.
    case replacement(FileReplacement, old: [UInt8]?)
    /// The file is put aside, and removed when all else is done.
    case removal(aside: String)
  }

  private let kind: Kind
  let path: String
  /// Where the configuration names it.
  let place: String?

  init(_ kind: Kind, _ path: String, _ place: String?) {
    (self.kind, self.path, self.place) = (kind, path, place)
  }

  func carryOut() throws(SystemError) {
    switch kind {
    case .folder: break
    case .replacement(let replacement, _): try replacement.replace()
    case .removal(let aside): if rename(path, aside) != 0 { throw .last }
    }
  }

  /// After all others have been carried out, too.
  func finish() {
    if case .removal(let aside) = kind { unlink(aside) }
  }

  /// Removes what was prepared for a step that is not carried out.
  func discard() {
    switch kind {
    case .folder: rmdir(path)
    case .replacement(let replacement, _): replacement.discard()
    case .removal: break
    }
  }

  /// Puts back what was there before the step; returns whether that is possible.
  func isUndone() -> Bool {
    switch kind {
    case .folder: rmdir(path) == 0
    case .replacement(let replacement, let old): (try? replacement.restore(old)) != nil
    case .removal(let aside): rename(aside, path) == 0
    }
  }
}

extension Failure {
  /// That a file cannot be written.
  package init(writing path: String, _ error: any Error) {
    let isFailedOutput = [ENOSPC, EDQUOT, EFBIG, EIO, EPIPE].contains((error as? SystemError)?.code ?? 0)
    self.init(
      exitCode: isFailedOutput ? .outputFailed : .cannotWrite, message: "\(path): it cannot be written: \(error)")
  }

  /// That a file cannot be written, and which files stay changed all the same.
  fileprivate init(writing path: String, _ error: any Error, leaving changed: [String]) {
    let failure = Failure(writing: path, error)
    let rest = changed.isEmpty ? "nothing is changed" : "not put back: \(changed.joined(separator: ", "))"
    self.init(exitCode: failure.exitCode, message: "\(failure.message); \(rest)")
  }
}
