import Foundation
import Glibc
import StoresTestSupport
import TestSupport
import Testing

@testable import Stores

/// What a disk cache says when it cannot do what it should.
@Suite struct DiskErrorTests {
  private let folder = TemporaryFolder()
  private let stored = StoredValue("v", writtenAt: StoreTime(microseconds: 1))

  private func cache(
    limit: Int = 1 << 20, _ fileSystem: some FileSystem = SystemFileSystem()
  ) throws -> DiskCache<String, String> {
    try DiskCache(folder: folder.url, limit: limit, coder: .json, fileSystem: fileSystem)
  }

  @Test func `D7: a process that keeps the lock does not stop others for ever`() throws {
    let files = SystemFileSystem(lockTimeout: .milliseconds(20))
    let cache = try cache(files)
    try cache.write(stored, for: "k")
    let name = try #require(folder.files.first { $0.hasSuffix("lock") })
    let lock = try files.open(folder.path(name), .lock)
    // As a process that was stopped does.
    try #require(try files.tryLock(lock))
    for use in [{ _ = try self.cache(files) }, { try cache.write(stored, for: "l") }, cache.removeAll] {
      let error = #expect(throws: FileError.self) { try use() }
      #expect(error?.code == ETIMEDOUT)
      #expect(error?.description == "flock lock: another process does not give the lock back")
    }
    #expect(try cache.read("k") == stored)
    try files.close(lock)
    try cache.write(stored, for: "l")
    #expect(try self.cache(files).read("l") == stored)
  }

  @Test func `a lock that is held for a moment is waited for`() throws {
    let files = FaultyFileSystem()
    let cache = try cache(files)
    let name = try #require(folder.files.first { $0.hasSuffix("lock") })
    let lock = try files.open(folder.path(name), .lock)
    try #require(try files.tryLock(lock))
    files.fail(call: nil)
    try race(2) { thread in
      if thread == 0 {
        while files.names.count(where: { $0 == "tryLock" }) < 3 { sched_yield() }
        try? files.close(lock)
      } else {
        try? cache.write(stored, for: "k")
      }
    }
    #expect(try cache.read("k") == stored)
  }

  @Test func `an error names the file, and not its folders`() throws {
    let cache = try cache()
    try cache.write(stored, for: "k")
    let path = folder.path(try #require(folder.records.first))
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    let error = #expect(throws: FileError.self) { try cache.read("k") }
    let name = try #require(path.split(separator: "/").last)
    #expect(error?.description == "open \(name): Too many levels of symbolic links")
  }

  @Test func `keys of which none can be read are an error`() throws {
    for key in ["a", "b"] { try cache().write(stored, for: key) }
    let files = FaultyFileSystem()
    let cache = try cache(files)
    files.fail(call: 0, .inputOutput, isLasting: true)
    #expect(throws: FileError.self) { try cache.keys() }
    // The first call looks at the folder, the second one opens a record.
    files.fail(call: 1, .inputOutput)
    #expect(try cache.keys().count == 1)
    files.fail(call: nil)
    #expect(try Set(cache.keys()) == ["a", "b"])
  }

  @Test func `a record that is too large is refused in a sentence`() throws {
    let error = #expect(throws: DiskCacheError.self) { try cache(limit: 10).write(stored, for: "k") }
    #expect(error?.description.hasSuffix("is larger than the limit of 10 bytes for all records.") == true)
  }
}
