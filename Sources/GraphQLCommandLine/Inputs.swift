import SystemBase

/// A file that was read, or standard input.
package struct Input {
  /// How messages call it.
  package let name: String
  package let bytes: [UInt8]
  package let isStandardInput: Bool
  /// Whether it was found in a folder, and not named itself.
  package let isFound: Bool

  /// Reads a file, or standard input for `-`.
  package init(_ path: String, isFound: Bool = false) throws(Failure) {
    isStandardInput = path == "-"
    name = isStandardInput ? "<stdin>" : path
    self.isFound = isFound
    do throws(SystemError) {
      bytes = try path == "-" ? FileDescriptor.standardInput.readAll() : FileDescriptor.contents(of: path)
    } catch {
      throw Self.failure(path, error)
    }
  }

  static func failure(_ path: String, _ error: SystemError) -> Failure {
    let reason =
      switch error.code {
      case ENOENT, ENOTDIR: "there is no such file"
      case EISDIR: "it is a folder"
      default: "it cannot be read"
      }
    return Failure(exitCode: .noInput, message: "\(path): \(reason)")
  }

  package var isSwift: Bool { !isStandardInput && name.hasSuffix(".swift") }

  /// The path without links; `nil` for what does not exist, and for standard input.
  package static func resolved(_ path: String) -> String? {
    guard path != "-", let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}

extension Console {
  /// Reads the files at paths, and those in folders whose names have an ending, each once; schemas that are in a folder
  /// are left out. Each that cannot be read is reported, and the run fails when all have been tried.
  ///
  /// - Parameter place: where the paths are named, for messages.
  package func inputs(
    _ paths: [String], endings: Set<String>, without schemas: [String] = [], place: String? = nil
  ) throws(Failure) -> [Input] {
    var inputs: [Input] = []
    var failures: [Failure] = []
    var seen: Set<String> = []
    let schemas = Set(schemas.compactMap(Input.resolved))
    func isNew(_ path: String) -> Bool { Input.resolved(path).map { seen.insert($0).inserted } ?? true }
    for path in paths {
      do throws(Failure) {
        guard path != "-", let found = try Self.files(in: path, endings) else {
          if isNew(path) { inputs.append(try Input(path)) }
          continue
        }
        if found.isEmpty {
          let names = endings.sorted().map { "." + $0 }.joined(separator: ", ")
          throw Failure(exitCode: .noInput, message: "\(path): no file in this folder is one of \(names)")
        }
        for file in found where !schemas.contains(Input.resolved(file) ?? "") && isNew(file) {
          inputs.append(try Input(file, isFound: true))
        }
      } catch {
        failures.append(error.at(place))
      }
    }
    for failure in failures.dropLast() { report(failure: failure.message) }
    if let last = failures.last { throw last }
    return inputs
  }

  /// The files in a folder and in its folders, in the order of their names; `nil` if the path is no folder. Hidden ones
  /// are left out, and so are folders that are links.
  private static func files(in path: String, _ endings: Set<String>) throws(Failure) -> [String]? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw Input.failure(path, SystemError(code: EACCES))
    }
    var files: [String] = []
    for name in names.sorted() where !name.hasPrefix(".") {
      let file = path.hasSuffix("/") ? path + name : "\(path)/\(name)"
      var status = stat()
      guard lstat(file, &status) == 0 else {
        throw Failure(
          exitCode: .noInput,
          message: "\(file): it cannot be read: \(SystemError.last); if its name is not UTF-8, rename it")
      }
      if status.st_mode & S_IFMT == S_IFDIR {
        files += try Self.files(in: file, endings) ?? []
      } else if let ending = name.split(separator: ".").last, endings.contains(String(ending)),
        stat(file, &status) == 0,
        status.st_mode & S_IFMT == S_IFREG
      {
        files.append(file)
      }
    }
    return files
  }
}
