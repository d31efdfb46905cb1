import Foundation
import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// Files that are damaged, and system calls that fail.
@Suite struct NormalizedDamageTests {
  private let folder = TemporaryFolder()

  /// A store with two entries on disk: issue 1 is `a`, then `b`. Returns the bytes, and where the second entry begins.
  private func entries() async throws -> (bytes: [UInt8], second: Int) {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let second = try bytes().count
    try world.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    await world.store.close()
    return (try bytes(), second)
  }

  private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: #require(folder.journal))) }

  /// What a store finds in a file with these bytes, and what it reports.
  private func found(_ bytes: some Sequence<UInt8>) throws -> (issue: String?, errors: [NormalizedStorageError]) {
    let other = try folder.copy()
    try Data(bytes).write(to: #require(other.journal))
    let errors = Mutable<[NormalizedStorageError]>([])
    let world = try NormalizedWorld(in: other.url) {
      $0.onStorageError = { error in errors.update { $0 += [error].compactMap { $0 as? NormalizedStorageError } } }
    }
    return (world.store.peek(GetIssue("1"))?.value?.description, errors.value)
  }

  @Test func `N9: an entry that is cut at any byte is not there, and is reported`() async throws {
    let (bytes, second) = try await entries()
    #expect(try found(bytes).issue == "1 b OPEN")
    for end in second + 1..<bytes.count {
      let (issue, errors) = try found(bytes[..<end])
      #expect(issue == "1 a OPEN", "\(end)")
      #expect(errors == [.damaged(lostBytes: end - second)])
    }
    #expect(try found(bytes[..<second]).errors == [])
  }

  @Test func `a first entry that is cut at any byte leaves nothing`() async throws {
    let (bytes, second) = try await entries()
    for end in 0..<second { #expect(try found(bytes[..<end]).issue == nil, "\(end)") }
  }

  @Test func `a flipped bit anywhere in the last entry leaves what was before`() async throws {
    let (bytes, second) = try await entries()
    for place in second..<bytes.count {
      var damaged = bytes
      damaged[place] ^= UInt8(1) << UInt8(place % 8)
      #expect(try found(damaged).issue == "1 a OPEN", "\(place)")
    }
  }

  @Test func `N9: a flipped bit before the last entry leaves nothing: what follows may have removed it`() async throws {
    let (bytes, second) = try await entries()
    for place in 0..<second {
      var damaged = bytes
      damaged[place] ^= UInt8(1) << UInt8(place % 8)
      let (issue, errors) = try found(damaged)
      #expect(issue == nil, "\(place)")
      #expect(errors == [.damaged(lostBytes: bytes.count)])
    }
  }

  @Test func `entries of another file, or in another order, are not taken`() async throws {
    let (bytes, second) = try await entries()
    #expect(try found(bytes + bytes[second...]).issue == "1 b OPEN")
    #expect(try found(bytes[second...] + bytes[..<second]).issue == nil)
  }

  @Test func `what follows a damaged end is written`() async throws {
    let (bytes, second) = try await entries()
    try Data(bytes[..<(second + 10)]).write(to: #require(folder.journal))
    let world = try NormalizedWorld(in: folder.url)
    try world.store.update(GetIssue("1")) { $0.issue?.title = "c" }
    #expect(try found(self.bytes()).issue == "1 c OPEN")
    #expect(try found(self.bytes()).errors == [])
    withExtendedLifetime(world) {}
  }

  @Test func `N8: a journal that would become too long to be read is replaced in time`() async throws {
    func open() throws -> RecordFile {
      try RecordFile(folder.url, partition: "account", fileSystem: SystemFileSystem(), limit: 4_000)
    }
    let errors = Mutable(0)
    let world = try NormalizedWorld(sharing: open()) { $0.onStorageError = { _ in errors.update { $0 += 1 } } }
    try await world.request(GetIssue("1"), issue("1", "a"))
    var longest = 0
    for number in 0..<100 {
      try world.store.update(GetIssue("1")) { $0.issue?.title = "title \(number)" }
      longest = max(longest, try bytes().count)
    }
    await world.store.close()
    #expect(errors.value == 0)
    #expect(2_000...4_000 ~= longest)
    #expect(try NormalizedWorld(sharing: open()).store.peek(GetIssue("1"))?.value?.description == "1 title 99 OPEN")
  }

  @Test func `N9: a file that is too long to be read is reported as lost, and replaced`() async throws {
    let count = try await entries().bytes.count
    func open(limit: Int) throws -> RecordFile {
      try RecordFile(folder.url, partition: "account", fileSystem: SystemFileSystem(), limit: limit)
    }
    let errors = Mutable<[NormalizedStorageError]>([])
    let world = try NormalizedWorld(sharing: open(limit: count - 1)) {
      $0.onStorageError = { error in errors.update { $0 += [error].compactMap { $0 as? NormalizedStorageError } } }
    }
    #expect(world.store.peek(GetIssue("1"))?.value == nil)
    #expect(errors.value == [.damaged(lostBytes: count)])
    try await world.request(GetIssue("1"), issue("1", "c"))
    await world.store.close()
    let next = try NormalizedWorld(sharing: open(limit: count))
    #expect(next.store.peek(GetIssue("1"))?.value?.description == "1 c OPEN")
  }

  @Test func `bytes with a right checksum that are no records leave nothing, and end nothing`() throws {
    var random = SplitMix(seed: 7)
    for _ in 0..<3_000 {
      let count = Int.random(in: 0..<40, using: &random)
      // Small numbers are statements.
      let bytes = (0..<count).map { _ in UInt8.random(in: 0..<9, using: &random) }
      var cache = RecordCache(RecordSchema())
      var read: [UInt8] = []
      if (try? cache.decode(bytes[...])) != nil { cache.encodeAll(into: &read) }
      var again = RecordCache(RecordSchema())
      #expect((try? again.decode(read[...])) != nil)
    }
  }

  /// A field of a query, with a value in the bytes of a journal.
  private func entry(_ value: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(.section)
    bytes.append(.entity)
    for _ in 0..<2 { bytes.append(number: 0) }
    bytes.append(text: "Query".utf8)
    bytes.append(text: "".utf8)
    bytes.append(.field)
    bytes.append(number: 0)
    bytes.append(text: "list".utf8)
    return bytes + value
  }

  @Test(arguments: ["1", "\"\\u0041\"", "", "\"", "\"\\", "\"a\\\"", "{", "tru", "1 ", " 1", "1,2"])
  func `a value that is no JSON is not taken`(text: String) throws {
    var value = [Slot.Kind.scalar.rawValue]
    value.append(text: text.utf8)
    var cache = RecordCache(RecordSchema())
    let isTaken = (try? cache.decode(entry(value)[...])) != nil
    #expect(isTaken == ["1", "\"\\u0041\""].contains(text))
  }

  @Test func `a system call that fails is reported, and what it was for is written with the next change`() async throws
  {
    let counting = FaultyFileSystem()
    counting.fail(call: nil)
    let world = try NormalizedWorld(in: TemporaryFolder().url, fileSystem: counting)
    try await world.request(GetIssue("1"), issue("1", "a"))
    try world.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    await world.store.close()
    let last = counting.calls
    try #require(last > 15)
    for fault in FaultyFileSystem.Fault.allCases {
      for call in 0..<last { try await check(fault, at: call) }
    }
  }

  /// What the next process finds, if this one ends now.
  private func restarted(_ folder: TemporaryFolder, _ id: String = "1") throws -> String? {
    let copy = try folder.copy()
    return try withExtendedLifetime(copy) {
      try NormalizedWorld(in: copy.url).store.peek(GetIssue(id))?.value?.description
    }
  }

  private func check(_ fault: FaultyFileSystem.Fault, at call: Int) async throws {
    let (files, folder, errors) = (FaultyFileSystem(), TemporaryFolder(), Mutable<[any Error]>([]))
    files.fail(call: call, fault)
    let made = try? NormalizedWorld(in: folder.url, fileSystem: files) {
      $0.onStorageError = { error in errors.update { $0.append(error) } }
    }
    // It says so where it is opened.
    guard let world = made else { return #expect(files.openCount == 0) }
    try await world.request(GetIssue("1"), issue("1", "a"))
    try world.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 b OPEN memory")
    let atUpdate = try restarted(folder)
    if errors.value.isEmpty { #expect(atUpdate == "1 b OPEN", "\(fault) \(call)") }
    #expect([nil, "1 a OPEN", "1 b OPEN"].contains(atUpdate), "\(fault) \(call)")
    try? await world.store.flush()
    try await world.store.flush()
    #expect(try restarted(folder) == "1 b OPEN", "\(fault) \(call)")
    await world.store.close()
    #expect(files.openCount == 0, "\(fault) \(call)")
  }

  @Test func `a full device loses nothing that memory has`() async throws {
    let (files, errors) = (FaultyFileSystem(), Mutable(0))
    let world = try NormalizedWorld(in: folder.url, fileSystem: files) {
      $0.onStorageError = { _ in errors.update { $0 += 1 } }
    }
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.setFull(true)
    try await world.request(GetIssue("2"), issue("2", "b"))
    #expect(errors.value == 1)
    await #expect(throws: FileError.self) { try await world.store.flush() }
    files.setFull(false)
    try await world.store.flush()
    #expect(try restarted(folder, "2") == "2 b OPEN")
  }

  @Test func `a file that cannot be removed is reported by clear, and removed before anything is written`() async throws
  {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.keepFiles(endingWith: "/records")
    await #expect(throws: FileError.self) { try await world.store.clear() }
    try await world.request(GetIssue("2"), issue("2", "b"))
    files.keepFiles(endingWith: nil)
    try await world.store.clear()
    #expect(folder.journal == nil)
  }

  @Test(arguments: [false, true])
  func `a file that could not be removed before the process ended is nothing to the next one`(isSignOut: Bool)
    async throws
  {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.keepFiles(endingWith: "/records")
    await #expect(throws: FileError.self) {
      if isSignOut { try await world.store.signOut() } else { try await world.store.clear() }
    }
    #expect(folder.journal != nil)
    #expect(try restarted(folder) == nil)
  }

  @Test(arguments: [false, true])
  func `what was forbidden and could not be written before the process ended is nothing to the next one`(isKept: Bool)
    async throws
  {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "secret"))
    files.setFull(true)
    if isKept { files.keepFiles(endingWith: "/records") }
    let refused = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.answer("{}", status: 403)
    try await refused.waitForEnd()
    #expect(try restarted(folder) == nil)
    files.setFull(false)
    files.keepFiles(endingWith: nil)
    try await world.request(GetIssue("2"), issue("2", "b"))
    #expect(try restarted(folder) == nil)
    #expect(try restarted(folder, "2") == "2 b OPEN")
  }
}
