import Foundation
import TestSupport
import Testing

/// What `graphql generate` does with files that others have made.
@Suite struct OverwritingTests {
  private let folder: WorkFolder
  private let path: String
  private let schema: String
  private let document: String

  init() throws {
    folder = try WorkFolder()
    path = folder.url.path
    schema = try folder.file("schema.graphql", "type Query { a: Int }")
    document = try folder.file("A.graphql", "query A { a }")
    try FileManager.default.createDirectory(atPath: path + "/out", withIntermediateDirectories: false)
  }

  private func generate(_ arguments: String...) async throws -> WorkFolder.Run {
    try await folder.run(["generate", "--schema", schema, "--output", path + "/out"] + arguments + [document])
  }

  /// Something in the place of a file, which no user can read, not even root.
  enum Obstacle: CaseIterable {
    case folder, pipe, loop

    func make(at path: String) throws {
      switch self {
      case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      case .pipe: #expect(mkfifo(path, 0o600) == 0)
      case .loop: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
      }
    }
  }

  @Test(arguments: Obstacle.allCases, [[], ["--once"]])
  func `V5: what cannot be read is not overwritten`(obstacle: Obstacle, options: [String]) async throws {
    let file = path + "/out/A.graphql.swift"
    try obstacle.make(at: file)
    var before = stat()
    #expect(lstat(file, &before) == 0)
    let result = try await folder.run(
      ["generate", "--schema", schema, "--output", path + "/out"] + options + [document])
    #expect(result.code == 73)
    #expect(result.errors.hasPrefix("graphql: \(file): it cannot be read, so that it is not overwritten: "))
    var after = stat()
    #expect(lstat(file, &after) == 0)
    #expect(after.st_ino == before.st_ino)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/out") == ["A.graphql.swift"])
  }

  @Test(.enabled(if: geteuid() != 0, "root reads all files"), arguments: [[], ["--once"]])
  func `a file that may not be read is not overwritten`(options: [String]) async throws {
    let file = try folder.file("out/A.graphql.swift", "struct Mine {}\n")
    chmod(file, 0)
    let result = try await folder.run(
      ["generate", "--schema", schema, "--output", path + "/out"] + options + [document])
    #expect(result.code == 73)
    chmod(file, 0o600)
    #expect(try folder.text("out/A.graphql.swift") == "struct Mine {}\n")
  }

  @Test func `with --once a link that leads nowhere is there already`() async throws {
    let link = path + "/out/A.graphql.swift"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path + "/target.swift")
    let result = try await generate("--once")
    #expect(result.code == 73)
    #expect(result.errors == "graphql: \(link): it is there already\n")
    #expect(!FileManager.default.fileExists(atPath: path + "/target.swift"))
  }

  @Test func `a pipe or a folder among generated files is left alone, and nobody waits for it`() async throws {
    try Obstacle.pipe.make(at: path + "/out/Pipe.swift")
    try Obstacle.folder.make(at: path + "/out/Folder.swift")
    let result = try await generate()
    #expect(result.code == 0)
    #expect(result.errors == "1 operation: 2 files written, 0 unchanged, 0 removed\n")
  }

  @Test(arguments: [
    (["--output", ""], "--output is empty; write . for this folder"), (["--output="], "--output is empty; "),
    (["--output", "out", "--manifest", ""], "--manifest is empty; name a file"),
    (["--output", "out", "--manifest", "-"], "--manifest takes a file; "),
  ])
  func `an empty path is wrong usage, and not the root of the file system`(
    options: [String], message: String
  ) async throws {
    for command in ["graphql", "graphql-generate"] {
      let words = command == "graphql" ? ["generate"] : []
      let result = try await folder.run(words + ["--schema", schema] + options + [document], command: command)
      #expect(result.code == 64)
      #expect(result.errors.hasPrefix("\(command): \(message)"))
    }
  }

  @Test(arguments: ["schema.graphql", "A.graphql", "graphql.json", "link.json"])
  func `a manifest is not written over what is read`(name: String) async throws {
    let configuration =
      #"{"schema": "schema.graphql", "documents": "A.graphql", "output": "out", "manifest": "\#(name)"}"#
    let config = try folder.file("graphql.json", configuration)
    try FileManager.default.createSymbolicLink(atPath: path + "/link.json", withDestinationPath: "A.graphql")
    let result = try await folder.run(["generate", "--config", config])
    #expect(result.code == 73)
    #expect(result.errors.hasPrefix("graphql: \(config):1:"))
    #expect(result.errors.contains("\(path)/\(name): this file is read, so that no manifest is written to it; "))
    #expect(try folder.text("schema.graphql") == "type Query { a: Int }")
    #expect(try folder.text("A.graphql") == "query A { a }")
    #expect(try folder.text("graphql.json") == configuration)
    let given = try await folder.run(["generate", "--config", config, "--manifest", path + "/out/../A.graphql"])
    #expect(given.code == 73)
  }

  @Test func `with --once a manifest that is there is not overwritten`() async throws {
    let manifest = try folder.file("manifest.json", "{}")
    let result = try await generate("--once", "--manifest", manifest)
    #expect(result.code == 73)
    #expect(result.errors == "graphql: \(manifest): it is there already\n")
    #expect(try folder.text("manifest.json") == "{}")
  }

  @Test(.enabled(if: geteuid() != 0, "root writes all files"))
  func `a manifest that may only be read is not replaced`() async throws {
    let manifest = try folder.file("manifest.json", "{}")
    chmod(manifest, 0o444)
    let result = try await generate("--manifest", manifest)
    #expect(result.code == 73)
    #expect(try folder.text("manifest.json") == "{}")
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `V5: a signal leaves all files or none, and nothing half written`(number: Int32) async throws {
    let names = (0..<200).map { "Q\($0)" }
    for name in names { _ = try folder.file("documents/\(name).graphql", "query \(name) { a }") }
    let child = try ChildProcess(
      try RepositoryLayout.executable("graphql"),
      ["generate", "--schema", schema, "--output", path + "/out", path + "/documents"])
    try await eventually { try !contents().isEmpty || child.state.value.ending != nil }
    child.send(number)
    let end = try await child.waitForEnd()
    // A child that is through before the test sees its first file gets no signal.
    #expect([.signalled(number), .exited(0)].contains(end.ending))
    let expected = (names + ["Schema"]).map { "\($0).graphql.swift" }
    #expect(try Set(contents()) == Set(expected))
  }

  private func contents() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path + "/out") }
}
