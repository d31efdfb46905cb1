import Foundation
import Glibc
import StoresTestSupport
import TestSupport
import Testing

@testable import Stores

/// What one process does in a folder that others use, too: each object stands for a process.
@Suite struct SharedFolderTests {
  private let folder = TemporaryFolder()
  private let stored = StoredValue("v", writtenAt: StoreTime(microseconds: 1))

  private func cache(_ fileSystem: some FileSystem = SystemFileSystem()) throws -> DiskCache<String, String> {
    try DiskCache(folder: folder.url, coder: .json, fileSystem: fileSystem)
  }

  @Test func `keys lists what another process has written, which is then found`() throws {
    let (first, second) = (try cache(), try cache())
    try second.write(stored, for: "k")
    #expect(try first.read("k") == nil)
    #expect(try first.keys() == ["k"])
    #expect(try first.read("k") == stored)
    try second.remove("k")
    #expect(try first.keys() == [])
    try first.write(stored, for: "l")
    #expect(first.statistics.count == 1)
  }

  @Test func `a look says whether another process has changed the folder since the last one`() throws {
    let (first, second) = (try cache(), try cache())
    _ = try first.refresh()
    try first.write(stored, for: "own")
    #expect(try !first.refresh())
    try second.write(stored, for: "k")
    try first.write(stored, for: "own")
    #expect(try first.refresh())
    #expect(try !first.refresh())
    try second.write(stored, for: "l")
    #expect(try first.refresh())
    #expect(try first.read("l") == stored)
  }

  @Test func `a record of another process is invalidated, and keeps its value`() throws {
    let (first, second) = (try cache(), try cache())
    try second.write(stored, for: "k")
    try first.invalidate("k")
    #expect(try second.read("k") == StoredValue("v", writtenAt: StoreTime(microseconds: 1), isInvalidated: true))
    try first.invalidate("unknown")
    #expect(try second.keys() == ["k"])
  }

  @Test func `F4: a removal by a condition finds what another process has written, and what is damaged`() throws {
    let (first, second) = (try cache(), try cache())
    for key in ["a1", "a2", "b1", "b2"] { try second.write(stored, for: key) }
    for (place, key) in [(0, "a1"), (44, "b2")] {
      let name = try #require(folder.records.first { $0.contains(fileName(of: key)) })
      let file = URL(fileURLWithPath: folder.path(name))
      var bytes = try Data(contentsOf: file)
      bytes[place] ^= 1
      try bytes.write(to: file)
    }
    try first.removeAll { $0.hasPrefix("a") }
    #expect(folder.records.count == 1)
    #expect(try second.read("b1") == stored)
  }

  @Test(arguments: [0, 4, 8, 12, 16, 24, 32, 40, 49])
  func `S1: a damaged record is removed by a clear, a removal of everything and a sign-out`(place: Int) throws {
    for remove in [{ try $0.removeAll() }, { try $0.removeAll { _ in true } }, { try $0.signOut() }]
      as [(
        DiskCache<String, String>
      ) throws -> Void]
    {
      let cache = try cache()
      try cache.write(stored, for: "k")
      let file = URL(fileURLWithPath: folder.path(try #require(folder.records.first)))
      var bytes = try Data(contentsOf: file)
      bytes[place] ^= 4
      try bytes.write(to: file)
      try remove(cache)
      #expect(folder.records == [])
    }
  }

  @Test func `A2: after a sign-out, who has opened the folder before writes nothing, in any process`() throws {
    let (first, second) = (try cache(), try cache())
    try second.write(stored, for: "k")
    try first.signOut()
    #expect(folder.records == [])
    for write in [
      { try $0.write(self.stored, for: "k") }, { try $0.removeAll() }, { try $0.invalidate("k") },
      { try $0.remove("k") }, { try $0.setRefused(true) },
    ] as [(DiskCache<String, String>) throws -> Void] {
      for old in [first, second] { #expect(throws: StoreError.signedOut) { try write(old) } }
    }
    #expect(try second.read("k") == nil)
    #expect(try second.keys() == [])
    #expect(folder.records == [])
    // The next session's records are nothing to those before it.
    let next = try cache()
    try next.write(stored, for: "k")
    for old in [first, second] {
      try old.signOut()
      #expect(try old.keys() == [])
      #expect(try old.read("k") == nil)
    }
    #expect(try next.read("k") == stored)
    try next.signOut()
    #expect(folder.records == [])
  }

  @Test func `A2: a sign-out that fails anywhere is finished by another call, or by who opens the folder next`() throws
  {
    for isOpenedByNext in [false, true] {
      for call in 0..<60 {
        let files = FaultyFileSystem()
        let (cache, other) = (try cache(files), try cache())
        for key in ["a", "b"] { try other.write(stored, for: key) }
        files.fail(call: call)
        let isDone = (try? cache.signOut()) != nil
        let isPast = files.calls <= call
        files.fail(call: nil)
        if isDone { #expect(folder.records == [], "call \(call)") }
        let isBegun = folder.files.contains { $0.hasSuffix(".unfinished") }
        if isOpenedByNext, isBegun {
          _ = try self.cache()
          #expect(folder.records == [], "call \(call)")
        }
        try cache.signOut()
        #expect(folder.records == [], "call \(call)")
        #expect(throws: StoreError.signedOut) { try other.write(stored, for: "c") }
        let next = try self.cache()
        try next.write(stored, for: "next")
        try cache.signOut()
        #expect(try next.keys() == ["next"], "call \(call)")
        #expect(files.openCount == 0, "call \(call)")
        if isPast { break }
        #expect(call < 59)
      }
    }
  }

  @Test func `A2: a sign-out is noticed on a file system that stores no fractions of seconds`() throws {
    let (first, second) = (try cache(CoarseFileSystem()), try cache(CoarseFileSystem()))
    try second.write(stored, for: "k")
    try first.signOut()
    #expect(throws: StoreError.signedOut) { try second.write(stored, for: "l") }
    #expect(folder.records == [])
  }

  @Test func `what others write is found on a file system that stores no fractions of seconds`() throws {
    let (first, second) = (try cache(CoarseFileSystem()), try cache(CoarseFileSystem()))
    for key in ["a", "b", "c"] {
      try second.write(stored, for: key)
      #expect(try first.keys().contains(key))
    }
  }

  @Test func `a folder that was removed after a sign-out is made again, and used`() throws {
    try cache().signOut()
    let cache = try cache()
    try FileManager.default.removeItem(at: folder.url)
    try cache.write(stored, for: "k")
    #expect(try cache.read("k") == stored)
    try self.cache().signOut()
    #expect(throws: StoreError.signedOut) { try cache.write(stored, for: "k") }
  }

  @Test func `A3: a refusal is kept for the next process, until it is withdrawn or nothing is left`() throws {
    try cache().setRefused(true)
    #expect(try cache().isRefused)
    try cache().setRefused(false)
    #expect(try !cache().isRefused)
    for remove in [{ try $0.removeAll() }, { try $0.signOut() }] as [(DiskCache<String, String>) throws -> Void] {
      let cache = try cache()
      try cache.setRefused(true)
      try remove(cache)
      #expect(try !self.cache().isRefused)
    }
  }

  @Test func `A3, S1: a removal of everything that was cut off anywhere leaves the refusal as long as a record`() throws
  {
    for call in 0... {
      let (folder, files) = (TemporaryFolder(), FaultyFileSystem())
      let cache = try DiskCache<String, String>(folder: folder.url, coder: .json, fileSystem: files)
      for key in ["k", "l"] { try cache.write(stored, for: key) }
      try cache.setRefused(true)
      files.listFirst("refused")
      files.fail(call: call, isLasting: true)
      let isFinished = (try? cache.removeAll()) != nil
      let next = try DiskCache<String, String>(folder: folder.url, coder: .json, fileSystem: SystemFileSystem())
      #expect(try next.isRefused || next.keys().isEmpty, "call \(call)")
      if isFinished {
        #expect(!next.isRefused)
        #expect(call > 5)
        break
      }
    }
  }

  @Test func `A3, S1: a record that cannot be removed stays hidden after a refusal`() throws {
    let files = FaultyFileSystem()
    let cache = try cache(files)
    try cache.write(stored, for: "k")
    try cache.setRefused(true)
    files.listFirst("refused")
    files.keepFiles(endingWith: ".r1")
    #expect(throws: FileError.self) { try cache.removeAll() }
    #expect(try self.cache().isRefused)
    files.keepFiles(endingWith: nil)
    try cache.removeAll()
    #expect(try !self.cache().isRefused)
  }

  @Test func `D7: a read of another version's record waits for no lock, and the next write empties the folder`() throws
  {
    let files = SystemFileSystem()
    let cache = try cache(files)
    for key in ["a", "b"] { try cache.write(stored, for: key) }
    let name = try #require(folder.records.first { $0.contains(fileName(of: "a")) })
    let file = URL(fileURLWithPath: folder.path(name))
    var bytes = try Data(contentsOf: file)
    (bytes[4], bytes[6]) = (9, 0xF6)
    try bytes.write(to: file)
    let lock = try files.open(folder.path(try #require(folder.files.first { $0.hasSuffix("/lock") })), .lock)
    try #require(try files.tryLock(lock))
    let begin = ContinuousClock.now
    #expect(try cache.read("a") == nil)
    #expect(try cache.read("b") == nil)
    #expect(.now - begin < .seconds(5))
    try files.close(lock)
    try cache.write(stored, for: "c")
    #expect(try cache.keys() == ["c"])
    #expect(folder.records.count == 1)
  }

  /// The name of the record of a key in the partition without a name.
  private func fileName(of key: String) -> String {
    "\(RecordName(hashing: [0, 0, 0, 0] + Array("\"\(key)\"".utf8)))"
  }
}
