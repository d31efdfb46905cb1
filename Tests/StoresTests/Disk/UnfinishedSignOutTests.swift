import Foundation
import StoresTestSupport
import Testing

@testable import Stores

/// Sign-outs of a folder that this process has begun and not finished, and what others do in between.
@Suite struct UnfinishedSignOutTests {
  private let folder = TemporaryFolder()
  private let stored = StoredValue("v", writtenAt: StoreTime(microseconds: 1))

  private func cache(
    _ folder: URL? = nil, _ fileSystem: some FileSystem = SystemFileSystem()
  ) throws -> DiskCache<String, String> {
    try DiskCache(folder: folder ?? self.folder.url, coder: .json, fileSystem: fileSystem)
  }

  /// The only file whose name ends like this.
  private func file(endingWith suffix: String) throws -> URL {
    URL(fileURLWithPath: folder.path(try #require(folder.files.first { $0.hasSuffix(suffix) })))
  }

  /// Begins a sign-out, which leaves its mark, and cannot remove a record.
  private func beginSignOut() throws {
    let files = FaultyFileSystem()
    let cache = try cache(nil, files)
    try cache.write(stored, for: "old")
    files.keepFiles(endingWith: ".r1")
    #expect(throws: FileError.self) { try cache.signOut() }
  }

  /// Begins a sign-out, which never gets the folder's lock, and so leaves no mark.
  private func beginSignOutInVain(_ folder: URL? = nil) throws {
    let files = SystemFileSystem(lockTimeout: .milliseconds(1))
    let cache = try cache(folder, files)
    try cache.write(stored, for: "old")
    let lock = try files.open(file(endingWith: "/lock").path, .lock)
    try #require(try files.tryLock(lock))
    #expect(throws: FileError.self) { try cache.signOut() }
    try files.close(lock)
  }

  /// Adds a record of the next session, as another process does.
  private func addRecord(of key: String) throws {
    let other = TemporaryFolder()
    try cache(other.url).write(stored, for: key)
    let name = try #require(other.records.first)
    try FileManager.default.copyItem(atPath: other.path(name), toPath: folder.path(name))
  }

  @Test func `S1: a sign-out that another process has finished since is not carried out again`() throws {
    try beginSignOut()
    let mark = try file(endingWith: ".unfinished")
    try FileManager.default.removeItem(at: file(endingWith: ".r1"))
    try FileManager.default.moveItem(at: mark, to: mark.deletingPathExtension())
    try addRecord(of: "new")
    #expect(try cache().keys() == ["new"])
  }

  @Test func `S1: a sign-out that never got the lock is not carried out after one by another process`() throws {
    try beginSignOutInVain()
    let record = try file(endingWith: ".r1")
    try FileManager.default.removeItem(at: record)
    let generation = record.deletingLastPathComponent().appendingPathComponent("generation-1")
    #expect(FileManager.default.createFile(atPath: generation.path, contents: nil))
    try addRecord(of: "new")
    let next = try cache()
    #expect(try next.keys() == ["new"])
    try next.signOut()
    #expect(folder.records == [])
  }

  @Test func `S1: a sign-out that never got the lock is carried out by who opens the folder next by any path`() throws {
    let link = folder.url.appendingPathExtension("link")
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url)
    defer { try? FileManager.default.removeItem(at: link) }
    try beginSignOutInVain(link)
    #expect(try cache().keys() == [])
    #expect(folder.records == [])
  }
}
