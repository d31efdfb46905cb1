import Foundation
import Testing

@testable import GraphQLCommandLine

/// What becomes of files if not all can be changed.
@Suite struct FileChangesTests {
  private let folder: WorkFolder
  private let path: String

  init() throws {
    folder = try WorkFolder()
    path = folder.url.path + "/"
  }

  private func written(_ name: String, old: String? = nil) -> FileChanges.Written {
    FileChanges.Written(path: path + name, text: "new", old: old.map { Array($0.utf8) }, place: nil)
  }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  @Test func `V5: what was written, removed and made is put back if another file cannot be removed`() throws {
    let old = try folder.file("old.swift", "old")
    chmod(old, 0o640)
    _ = try folder.file("orphan.swift", "orphan")
    let changes = FileChanges(
      folder: path + "a/b/", place: nil, written: [written("old.swift", old: "old"), written("a/b/new.swift")],
      removed: [path + "orphan.swift", path + "nowhere.swift"])
    let failure = try #require(throws: Failure.self) { try changes.carryOut() }
    #expect(failure.exitCode == .cannotWrite)
    #expect(
      failure.message
        == "\(path)nowhere.swift: it cannot be written: No such file or directory; nothing is changed")
    #expect(try names() == ["old.swift", "orphan.swift"])
    #expect(try folder.text("old.swift") == "old")
    #expect(try folder.text("orphan.swift") == "orphan")
    #expect(try FileManager.default.attributesOfItem(atPath: old)[.posixPermissions] as? Int == 0o640)
  }

  @Test func `V5: what cannot be put back is named`() throws {
    let changes = FileChanges(
      folder: path, place: nil, written: [written("a.swift"), written("a.swift")], removed: [path + "nowhere.swift"])
    let failure = try #require(throws: Failure.self) { try changes.carryOut() }
    #expect(failure.message.hasSuffix("; not put back: \(path)a.swift"))
    #expect(try names() == [])
  }

  @Test func `nothing stays of new files if one of them cannot be made`() throws {
    _ = try folder.file("file", "text")
    let changes = FileChanges(
      folder: path + "a/b/", place: nil, written: [written("a/b/new.swift"), written("file/new.swift")])
    let failure = try #require(throws: Failure.self) { try changes.carryOut() }
    #expect(failure.message == "\(path)file/new.swift: it cannot be written: Not a directory; nothing is changed")
    #expect(try names() == ["file"])
  }

  @Test func `files are removed for good if all could be changed`() throws {
    _ = try folder.file("orphan.swift", "orphan")
    let changes = FileChanges(
      folder: path + "a//b/./", place: nil, written: [written("a/b/new.swift")], removed: [path + "orphan.swift"])
    try changes.carryOut()
    #expect(try names() == ["a"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "a/b") == ["new.swift"])
  }
}
