import Foundation
import Glibc
import StoresTestSupport
import TestSupport
import Testing

@testable import Stores

@Suite("the disk cache")
struct DiskCacheTests {
  let folder = TemporaryFolder()

  func cache(
    _ partition: String = "", limit: Int = 1 << 20, _ fileSystem: some FileSystem = SystemFileSystem()
  ) throws -> DiskCache<String, String> {
    try DiskCache(folder: folder.url, partition: partition, limit: limit, coder: .json, fileSystem: fileSystem)
  }

  func stored(_ value: String) -> StoredValue<String> { StoredValue(value, writtenAt: StoreTime(microseconds: 1)) }

  @Test func `D1: a write is made under another name, synced, renamed, and the folder synced`() throws {
    let files = FaultyFileSystem()
    let cache = try cache("", files)
    files.fail(call: nil)
    try cache.write(stored("v"), for: "k")
    let calls = files.names
    let write = try #require(calls.firstIndex(of: "write"))
    #expect(Array(calls[(write - 1)...(write + 5)]) == ["open", "write", "touch", "sync", "close", "rename", "sync"])
  }

  @Test func `a folder that is called like a file of the cache's own is let be`() throws {
    try cache().write(stored("v"), for: "k")
    let partition = try #require(folder.records.first).prefix { $0 != "/" }
    let record = RecordName(hashing: "another".utf8)
    for name in ["temporary-1", "\(record)"] {
      try FileManager.default.createDirectory(
        atPath: folder.path("\(partition)/\(name)/more"), withIntermediateDirectories: true)
    }
    let cache = try cache(limit: 3 * 4096)
    #expect(try cache.read("k") == stored("v"))
    #expect(try cache.keys() == ["k"])
    // There is room for the folder's 4 KiB and two records, and not for all records beside it.
    for key in ["l", "m", "n"] { try cache.write(stored(key), for: key) }
    try cache.removeAll()
    #expect(folder.records == [])
  }

  @Test(arguments: FaultyFileSystem.Fault.allCases, [false, true])
  func
    `D3: a write that is reported as done is done, whichever call fails, reads still work, and no temporary file stays`(
      fault: FaultyFileSystem.Fault, isLasting: Bool
    ) throws
  {
    let new = String(repeating: "new", count: 60)
    for number in 0..<60 {
      let files = FaultyFileSystem()
      let cache = try cache("\(number)", limit: 2 * 4096, files)
      try cache.write(stored("old"), for: "k")
      try cache.write(stored("second"), for: "l")
      files.fail(call: number, fault, isLasting: isLasting)
      let isWritten = (try? cache.write(stored(new), for: "k")) != nil
      _ = try? cache.read("k")
      let isRemoved = (try? cache.remove("l")) != nil
      _ = try? cache.keys()
      let isPast = files.calls <= number
      files.fail(call: nil)

      for cache in [cache, try self.cache("\(number)", limit: 2 * 4096)] {
        #expect(try (isWritten ? [new] : ["old", new]).contains(cache.read("k")?.value), "call \(number)")
        #expect((isRemoved ? [nil] : [nil, "second"]).contains(try cache.read("l")?.value), "call \(number)")
      }
      #expect(!folder.files.contains { $0.contains("temporary") }, "call \(number)")
      #expect(files.openCount == 0, "call \(number)")
      if isPast { return }
    }
    Issue.record("there were more calls than were tried")
  }

  @Test func `D3: a cache whose opening fails says so, and has all its entries the next time`() throws {
    try cache().write(stored("v"), for: "k")
    for number in 0..<40 {
      let files = FaultyFileSystem()
      files.fail(call: number, .inputOutput)
      let opened = try? cache("", files)
      let failed = number < files.calls ? files.names[number] : nil
      // The time of the folder's change spares looking at it; and what is closed has been used.
      let mayFail = failed.map { ["touch", "close"].contains($0) } ?? true
      #expect((opened != nil) == mayFail, "call \(number), \(failed ?? "none")")
      #expect(try cache().read("k")?.value == "v")
      #expect(files.openCount == 0)
      if failed == nil { return }
    }
    Issue.record("there were more calls than were tried")
  }

  @Test func `D4: a flipped bit in a file is a miss`() throws {
    try cache().write(stored("value"), for: "k")
    let path = folder.path(try #require(folder.records.first))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    for bit in stride(from: 0, to: bytes.count * 8, by: TestScale.count(7, long: 1)) {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << (bit % 8)
      try flipped.write(to: URL(fileURLWithPath: path))
      #expect(try cache().read("k") == nil, "bit \(bit)")
      #expect(try cache().keys().allSatisfy { $0 == "k" }, "bit \(bit)")
    }
    try bytes.write(to: URL(fileURLWithPath: path))
    #expect(try cache().read("k")?.value == "value")
  }

  @Test func `D4: a record of another version empties the store`() throws {
    let cache = try cache()
    try cache.write(stored("1"), for: "a")
    try cache.write(stored("2"), for: "b")
    let path = folder.path(try #require(folder.records.first))
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    (bytes[4], bytes[6]) = (9, 0xF6)
    try bytes.write(to: URL(fileURLWithPath: path))
    #expect(Set(try ["a", "b"].map { try cache.read($0)?.value }).contains(nil))
    #expect(try cache.read("a") == nil)
    #expect(try cache.read("b") == nil)
    #expect(folder.records == [])

    try cache.write(stored("1"), for: "a")
    let name = try #require(folder.records.first)
    try FileManager.default.moveItem(atPath: folder.path(name), toPath: folder.path(name.dropLast(2) + "r2"))
    #expect(try self.cache().read("a") == nil)
    #expect(!folder.files.contains { $0.hasSuffix("r2") })
  }

  @Test func `D5: files are the owner's alone, and keys stay inside`() throws {
    let cache = try cache()
    for key in ["../k", "/etc/passwd", "a\0b", String(repeating: "k", count: 300)] {
      try cache.write(stored("v"), for: key)
    }
    #expect(folder.records.count == 4)
    for name in folder.files {
      var status = stat()
      #expect(stat(folder.path(name), &status) == 0, "\(name)")
      #expect(status.st_mode & 0o7777 == 0o600, "\(name)")
    }
    for name in ["", (folder.files[0] as NSString).deletingLastPathComponent] {
      var status = stat()
      #expect(stat(folder.path(name), &status) == 0, "\(name)")
      #expect(status.st_mode & 0o7777 == 0o700, "\(name)")
    }
  }

  @Test func `D5: the full key is compared`() throws {
    let cache = try cache()
    try cache.write(stored("v"), for: "k")
    let name = try #require(folder.records.first)
    try cache.write(stored("w"), for: "other")
    let other = try #require(folder.records.first { $0 != name })
    // As if the two keys had one name.
    try Data(contentsOf: URL(fileURLWithPath: folder.path(name))).write(to: URL(fileURLWithPath: folder.path(other)))
    #expect(try cache.read("other") == nil)
  }

  @Test
  func `D6: the size stays at the limit, the oldest entry is evicted first, and one that is too large is refused`()
    throws
  {
    let limit = 30 * 4096 + 1
    let cache = try cache(limit: limit)
    for index in 0..<100 {
      try cache.write(stored(String(repeating: "x", count: index % 50)), for: "\(index)")
      #expect(cache.statistics.bytes <= limit)
    }
    #expect(try cache.read("99") != nil)
    #expect(try cache.read("0") == nil)
    let kept = Set(try cache.keys().compactMap { Int($0) })
    #expect(kept == Set((100 - kept.count)..<100))
    #expect(cache.statistics.count == folder.records.count)

    #expect(throws: DiskCacheError.self) {
      try cache.write(stored(String(repeating: "x", count: 30 * 4096)), for: "99")
    }
    #expect(try cache.read("99") == nil)
    // Opened again, it still knows which is oldest.
    let next = try self.cache(limit: limit)
    let oldest = try #require(kept.min())
    try next.write(stored(String(repeating: "y", count: 5_000)), for: "large")
    #expect(try next.read("\(oldest)") == nil)
    #expect(try next.read("98") != nil)
  }

  @Test func `D6: very many small records take no more of the device than the limit`() throws {
    let limit = 1 << 20
    let cache = try cache(limit: limit)
    for index in 0..<2_000 { try cache.write(stored("v"), for: "\(index)") }
    let taken = folder.records.map { name in
      var status = stat()
      return lstat(folder.path(name), &status) == 0 ? Int(status.st_blocks) * 512 : .max
    }
    #expect(taken.reduce(0, +) <= limit + 4096)
    #expect(cache.statistics.bytes <= limit)
    #expect(cache.statistics.count == folder.records.count)
    #expect(cache.statistics.count == limit / 4096)
  }

  @Test func `a folder that was removed is made again`() throws {
    let cache = try cache()
    try cache.write(stored("v"), for: "k")
    try FileManager.default.removeItem(at: folder.url)
    #expect(try cache.read("k") == nil)
    try cache.write(stored("w"), for: "l")
    #expect(try cache.read("l")?.value == "w")
    #expect(try cache.keys() == ["l"])
    #expect(cache.statistics.count == 1)
  }

  @Test func `an entry that another process writes or removes is counted at the next write`() throws {
    let (first, second) = (try cache(limit: 10 * 4096), try cache(limit: 10 * 4096))
    for index in 0..<40 {
      try (index % 2 == 0 ? first : second).write(stored("\(index)"), for: "\(index)")
      #expect(folder.records.count <= 10)
    }
    try first.removeAll()
    try second.write(stored("last"), for: "k")
    #expect(second.statistics.count == 1)
  }

  @Test func `D8: a partition's files are gone when clear returns, and no other's`() throws {
    let (first, second) = (try cache("1"), try cache("2"))
    for index in 0..<20 {
      try first.write(stored("v"), for: "\(index)")
      try second.write(stored("v"), for: "\(index)")
    }
    try first.removeAll()
    #expect(folder.records.count == 20)
    #expect(first.statistics == DiskStatistics(count: 0, bytes: 0))
    #expect(try second.read("3")?.value == "v")
  }

  @Test func `D8, S1: a removed entry is gone from the device, too`() throws {
    let files = FaultyFileSystem()
    let cache = try cache("", files)
    for key in ["a", "b"] { try cache.write(stored("v"), for: key) }
    for remove in [{ try cache.remove("a") }, { try cache.removeAll() }] {
      files.fail(call: nil)
      try remove()
      let last = try #require(files.names.lastIndex(of: "remove"))
      #expect(files.names[last...].contains("sync"))
    }
  }

  @Test func `S1: the other files are removed, whichever cannot be opened or removed`() throws {
    for call in 0..<60 {
      let files = FaultyFileSystem()
      let cache = try cache("\(call)", files)
      // By another one, so that the folder has to be read again.
      for key in ["a", "b", "c"] { try self.cache("\(call)").write(stored("v"), for: key) }
      files.fail(call: call)
      try? cache.removeAll()
      let isPast = files.calls <= call
      if files.names.contains("remove") || call > 5 { #expect(folder.records.count <= 1, "call \(call)") }
      files.fail(call: nil)
      try cache.removeAll()
      #expect(folder.records == [], "call \(call)")
      #expect(cache.statistics.count == 0, "call \(call)")
      try self.cache("\(call)").write(stored("v"), for: "a")
      try cache.write(stored("v"), for: "b")
      #expect(try Set(cache.keys()) == ["a", "b"], "call \(call)")
      try cache.removeAll()
      #expect(files.openCount == 0, "call \(call)")
      if isPast { return }
    }
    Issue.record("there were more calls than were tried")
  }

  @Test func `keys are read without their values, and each once`() throws {
    let keys = (0..<20).map { "\($0)" } + [String(repeating: "long", count: 300)]
    for key in keys { try cache().write(stored(String(repeating: "v", count: 20_000)), for: key) }
    let files = FaultyFileSystem()
    let cache = try cache("", files)
    files.fail(call: nil)
    #expect(Set(try cache.keys()) == Set(keys))
    // Only the record of the long key is read whole.
    #expect(files.bytesRead < 40_000)

    files.fail(call: nil)
    try cache.write(stored("new"), for: "0")
    try cache.remove("1")
    // Another one's write makes this one look at the folder again.
    try self.cache().remove("2")
    try cache.remove("3")
    #expect(Set(try cache.keys()) == Set(keys).subtracting(["1", "2", "3"]))
    #expect(files.bytesRead == 0)
  }

  @Test func `a record that cannot be opened keeps no other key from being listed`() throws {
    for key in ["a", "b"] { try cache().write(stored("v"), for: key) }
    let path = folder.path(try #require(folder.records.first))
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    #expect(try cache().keys().count == 1)
  }

  @Test func `a miss costs no system call`() throws {
    let files = FaultyFileSystem()
    let cache = try cache("", files)
    try cache.write(stored("v"), for: "k")
    files.fail(call: nil)
    for index in 0..<100 { #expect(try cache.read("\(index)") == nil) }
    #expect(files.calls == 0)
  }
}
