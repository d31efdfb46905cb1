import Foundation
import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// A storage that is away for a time: what has changed meanwhile, and what could not be read.
@Suite(.timeLimit(.minutes(1))) struct NormalizedAwayTests {
  private let records = SharedRecords()
  private let folder = TemporaryFolder()

  /// One process; one that hears nothing tries again by its own clock alone.
  private func process(
    isDeaf: Bool = false, _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws -> NormalizedWorld {
    let storage = records.opened()
    storage.setDeaf(isDeaf)
    return try NormalizedWorld(sharing: storage, change)
  }

  private func wait(for title: String?, of id: String = "1", in world: NormalizedWorld) async throws {
    try await eventually { world.store.peek(GetIssue(id))?.value?.issue?.title == title }
  }

  /// A process, and another one, that have issue 1.
  private func two(isDeaf: Bool = false) async throws -> (NormalizedWorld, NormalizedWorld) {
    let (first, second) = (try process(), try process(isDeaf: isDeaf))
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    return (first, second)
  }

  /// Lets the server refuse issue 1 to a process.
  private func refuse(_ status: Int, in world: NormalizedWorld) async throws {
    let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.answer("{}", status: status)
    try await get.waitForEnd()
    get.dispose()
  }

  // MARK: Writing

  @Test func `N16: what could not be written is written when the storage is back`() async throws {
    let (first, second) = try await two()
    records.setAway(true)
    try second.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    records.setAway(false)
    try await wait(for: "b", in: first)
  }

  @Test(arguments: [false, true])
  func `N16: of much that could not be written nothing is lost, also where others have replaced the journal`(
    removes: Bool
  ) async throws {
    let (first, second) = try await two(isDeaf: true)
    let long = String(repeating: "x", count: 200_000)
    records.setAway(true)
    if removes { second.store.invalidate(EntityID("Issue", id: "1")) }
    for number in 0..<30 {
      try await second.request(GetIssue("2"), issue("2", "\(number)" + long))
      try await second.request(GetIssue("\(number + 10)"), issue("\(number + 10)", "b\(number)"))
    }
    records.setAway(false)
    // The journal becomes so long that it is replaced.
    for number in 0..<5 { try await first.request(GetIssue("1"), issue("1", "\(number)" + long)) }
    #expect(records.entries.count < 5)
    try second.store.catchUpNow()
    for world in [second, try process()] {
      for number in 0..<30 {
        #expect(world.store.peek(GetIssue("\(number + 10)"))?.value?.issue?.title == "b\(number)")
      }
      #expect(world.store.peek(GetIssue("2"))?.value?.issue?.title == "29" + long)
      #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == (removes ? nil : "4" + long))
    }
  }

  @Test func `what could not be written is tried again after pauses that double, and reported once`() async throws {
    let errors = Mutable(0)
    let first = try process()
    let second = try process(isDeaf: true) { $0.onStorageError = { _ in errors.update { $0 += 1 } } }
    try await first.request(GetIssue("1"), issue("1", "a"))
    #expect(second.store.peek(GetIssue("1"))?.value?.issue?.title == "a")
    records.setAway(true)
    try second.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    let (calls, timers) = (records.failedCalls, second.time.pendingCount)
    for (number, pause) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
      second.time.advance(by: .seconds(pause) - .milliseconds(1))
      #expect(records.failedCalls == calls + number)
      second.time.advance(by: .milliseconds(1))
      try await eventually { records.failedCalls == calls + number + 1 && second.time.pendingCount == timers }
    }
    #expect(errors.value == 1)
    records.setAway(false)
    second.time.advance(by: .seconds(30))
    try await wait(for: "b", in: first)
  }

  @Test func `N16: what the server has refused while the storage was away is removed when it is back`() async throws {
    let (first, second) = try await two()
    records.setAway(true)
    try await refuse(403, in: second)
    records.setAway(false)
    try await eventually { first.store.missingPath(of: GetIssue("1")) != nil }
    // And the process hears of what others write.
    try await first.request(GetIssue("2"), issue("2", "b"))
    try await wait(for: "b", of: "2", in: second)
  }

  @Test(arguments: [true, false])
  func `N16: a removal that could not be written costs others nothing else`(isDeaf: Bool) async throws {
    let (first, second) = try await two(isDeaf: isDeaf)
    try await first.request(GetIssue("2"), issue("2", "b"))
    let watcher = Recorder(first.store.stream(GetIssue("2"), .cacheOnly))
    records.setAway(true)
    second.store.invalidate(EntityID("Issue", id: "1"))
    records.setAway(false)
    second.time.advance(by: .seconds(1))
    try await eventually { first.store.missingPath(of: GetIssue("1")) != nil }
    try await second.store.flush()
    try first.store.takeOthers()
    // The end of the request may still be told to a watcher that came right behind it.
    #expect(Set(watcher.brief()) == ["2 b OPEN memory"])
    #expect(try process().store.peek(GetIssue("2"))?.value?.issue?.title == "b")
  }

  @Test func `N8: what is written after a removal that has failed is there after a restart`() async throws {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    for id in ["1", "2"] { try await world.request(GetIssue(id), issue(id, "a")) }
    // The file cannot be added to, nor removed.
    files.setFull(true)
    files.keepFiles(endingWith: "/records")
    try await refuse(403, in: world)
    files.setFull(false)
    files.keepFiles(endingWith: nil)
    try await world.request(GetIssue("3"), issue("3", "c"))
    await world.store.close()
    let next = try NormalizedWorld(in: folder.url)
    #expect(["1", "2", "3"].map { next.store.peek(GetIssue($0))?.value?.issue?.title } == [nil, "a", "c"])
  }

  @Test(arguments: ["changed", "refused", "refused account", "removed", "signed out"])
  func `D3: what could not be written until its store ended is not undone by the process's next store`(
    issue1: String
  ) async throws {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    for id in ["1", "2"] { try await world.request(GetIssue(id), issue(id, "a")) }
    // Nothing can be marked as refused, or as to be removed, either.
    files.fail(call: 0, isLasting: true)
    switch issue1 {
    case "changed": try world.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    case "refused": try await refuse(403, in: world)
    case "refused account": try await refuse(401, in: world)
    case "removed": await #expect(throws: FileError.self) { try await world.store.clear() }
    default: await #expect(throws: FileError.self) { try await world.store.signOut() }
    }
    await world.store.close()
    files.fail(call: nil)
    // One that reads nothing leaves it to the next.
    await (try NormalizedWorld(in: folder.url)).store.close()
    for number in 0..<3 {
      let next = try NormalizedWorld(in: folder.url)
      #expect(next.store.peek(GetIssue("1"))?.value?.issue?.title == (issue1 == "changed" ? "b" : nil))
      // As the account's refusal is hidden, until the server accepts it.
      if number > 0, issue1 != "refused account" {
        #expect(next.store.peek(GetIssue("3"))?.value?.issue?.title == "c")
      }
      if number == 0, issue1 != "refused account" { try await next.request(GetIssue("3"), issue("3", "c")) }
      try await next.store.flush()
      await next.store.close()
    }
  }

  @Test(arguments: [false, true])
  func `D3: what two stores could not write until they ended is not undone by the process's next store`(
    isAhead: Bool
  ) async throws {
    let identity = "\(UUID())"
    func open() throws -> NormalizedWorld { try NormalizedWorld(sharing: records.opened(identity: identity)) }
    let (first, second) = (try open(), try open())
    for id in ["1", "2"] { try await first.request(GetIssue(id), issue(id, "a")) }
    for id in ["1", "2"] { try await wait(for: "a", of: id, in: second) }
    if isAhead {
      // What the first one does not know any more, the second one has written after.
      records.setAway(true)
      try first.store.update(GetIssue("1")) { $0.issue?.title = "lost" }
      await first.store.close()
      records.setAway(false)
      try await second.request(GetIssue("1"), issue("1", "b"))
      records.setAway(true)
    } else {
      records.setAway(true)
      try first.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    }
    try second.store.update(GetIssue("2")) { $0.issue?.title = "b" }
    for world in [first, second] { await world.store.close() }
    records.setAway(false)
    let next = try open()
    for id in ["1", "2"] { #expect(next.store.peek(GetIssue(id))?.value?.issue?.title == "b") }
    try await next.store.flush()
    try await wait(for: "b", of: "2", in: try process())
  }

  @Test func `S1: another attempt at a sign-out that has failed removes nothing of the next session`() async throws {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.fail(call: 0, isLasting: true)
    await #expect(throws: FileError.self) { try await world.store.signOut() }
    await world.store.close()
    files.fail(call: nil)
    let next = try NormalizedWorld(in: folder.url)
    #expect(next.store.peek(GetIssue("1")) == nil)
    try await next.request(GetIssue("3"), issue("3", "c"))
    // The next session has the folder.
    await #expect(throws: NormalizedStorageError.alreadyOpen) { try await world.store.signOut() }
    await next.store.close()
    #expect(try NormalizedWorld(in: folder.url).store.peek(GetIssue("3"))?.value?.issue?.title == "c")
  }

  @Test(arguments: ["changed", "removed"])
  func `D3: what could not be written is not put on top of what another process has written since`(
    issue1: String
  ) async throws {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.setFull(true)
    files.keepFiles(endingWith: "/records")
    if issue1 == "changed" {
      try world.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    } else {
      await #expect(throws: FileError.self) { try await world.store.clear() }
    }
    await world.store.close()
    files.setFull(false)
    files.keepFiles(endingWith: nil)
    // Another process, as it has another path.
    let copy = try folder.copy()
    let other = try NormalizedWorld(in: copy.url)
    if issue1 == "removed" { try await other.store.clear() }
    try await other.request(GetIssue("1"), issue("1", "theirs"))
    await other.store.close()
    let (journal, theirs) = (try #require(folder.journal), try #require(copy.journal))
    try Data(contentsOf: theirs).write(to: journal)
    // It has ended the removal, too.
    for file in folder.files where file.hasSuffix("/removing") {
      try FileManager.default.removeItem(atPath: folder.path(file))
    }
    let next = try NormalizedWorld(in: folder.url)
    #expect(next.store.peek(GetIssue("1"))?.value?.issue?.title == "theirs")
    await next.store.close()
  }

  @Test func `D3: what is written after a removal that has failed is there after a power cut`() async throws {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.keepFiles(endingWith: "/records")
    files.setFull(true)
    try await refuse(403, in: world)
    #expect(folder.files.contains { $0.hasSuffix("/removing") })
    files.setFull(false)
    files.keepFiles(endingWith: nil)
    try await world.request(GetIssue("3"), issue("3", "c"))
    let lost = files.unsyncedRemovals
    await world.store.close()
    for path in lost { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
    #expect(try NormalizedWorld(in: folder.url).store.peek(GetIssue("3"))?.value?.issue?.title == "c")
  }

  @Test func `D3: what the server has refused is removed from a file as soon as the disk works`() async throws {
    let files = FaultyFileSystem()
    let world = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await world.request(GetIssue("1"), issue("1", "a"))
    files.fail(call: 0, isLasting: true)
    try await refuse(403, in: world)
    files.fail(call: nil)
    world.time.advance(by: .seconds(1))
    try await eventually { folder.journal == nil || folder.files.count { $0.hasSuffix("/removing") } == 0 }
    try await eventually { () -> Bool in
      guard let copy = try? folder.copy() else { return false }
      return (try? NormalizedWorld(in: copy.url))?.store.peek(GetIssue("1")) == nil
    }
  }

  @Test func `S1: a refusal that could not be kept is kept when the storage is back`() async throws {
    let (first, second) = try await two(isDeaf: true)
    records.setAway(true)
    try await refuse(401, in: second)
    records.setAway(false)
    try await eventually { records.opened().isRefused }
    #expect(try process().store.peek(GetIssue("1")) == nil)
    withExtendedLifetime(first) {}
  }

  @Test func `N7: after a sign-out that the storage could not do, nothing is written, and another one does it`()
    async throws
  {
    let (first, second) = try await two()
    records.setAway(true)
    try second.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    await #expect(throws: SharedRecords.IsAway.self) { try await second.store.signOut() }
    let entries = records.entries
    records.setAway(false)
    try await second.store.flush()
    #expect(records.entries == entries)
    try await second.store.signOut()
    #expect(records.hasSignOutAlone)
    try await wait(for: nil, in: first)
  }

  @Test func `a storage is asked once whether the server has refused the account`() async throws {
    let world = try process()
    try await world.request(GetIssue("1"), issue("1", "a"))
    let count = records.refusalReads
    try await world.request(GetIssue("1"), issue("1", "b"))
    try await refuse(403, in: world)
    #expect(records.refusalReads == count)
  }

  // MARK: Reading

  @Test func `N8: records that could not be read at first are not replaced`() async throws {
    let first = try NormalizedWorld(in: folder.url)
    try await first.request(GetIssue("1"), issue("1", "a"))
    await first.store.close()
    let files = FaultyFileSystem()
    files.failReading(ofFilesEndingWith: "/records", code: EMFILE)
    let second = try NormalizedWorld(in: folder.url, fileSystem: files)
    #expect(second.store.peek(GetIssue("1")) == nil)
    try await second.request(GetIssue("2"), issue("2", "b"))
    files.failReading(ofFilesEndingWith: nil)
    second.time.advance(by: .seconds(1))
    try await wait(for: "a", in: second)
    #expect(second.store.peek(GetIssue("2"))?.value?.issue?.title == "b")
    await second.store.close()
    let third = try NormalizedWorld(in: folder.url)
    #expect(["1", "2"].map { third.store.peek(GetIssue($0))?.value?.issue?.title } == ["a", "b"])
  }

  @Test func `what cannot be read can be removed`() async throws {
    let first = try NormalizedWorld(in: folder.url)
    try await first.request(GetIssue("1"), issue("1", "a"))
    await first.store.close()
    let files = FaultyFileSystem()
    files.failReading(ofFilesEndingWith: "/records")
    let second = try NormalizedWorld(in: folder.url, fileSystem: files)
    #expect(second.store.peek(GetIssue("1")) == nil)
    try await second.store.clear()
    #expect(folder.journal == nil)
  }

  @Test func `what the server refuses is removed also if it cannot be read`() async throws {
    let first = try NormalizedWorld(in: folder.url)
    try await first.request(GetIssue("1"), issue("1", "a"))
    await first.store.close()
    let files = FaultyFileSystem()
    files.failReading(ofFilesEndingWith: "/records")
    let second = try NormalizedWorld(in: folder.url, fileSystem: files)
    try await refuse(403, in: second)
    #expect(folder.journal == nil)
  }

  @Test func `a storage that says each time that it is back, and cannot be read, is not read without a pause`()
    async throws
  {
    let (storage, errors) = (records.opened(), Monitor(0))
    let first = try process()
    let second = try NormalizedWorld(sharing: storage) { $0.onStorageError = { _ in errors.update { $0 += 1 } } }
    await second.store.load()
    storage.failReading(1_000, saysItIsBack: true)
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await errors.wait { $0 > 0 }
    for pause in [1, 2, 4] {
      try await eventually { second.time.pendingCount > 0 }
      second.time.advance(by: .seconds(pause))
    }
    #expect(storage.failingReadCount > 980)
    storage.failReading(0)
    try await eventually { () -> Bool in
      second.time.advance(by: .seconds(30))
      return second.store.peek(GetIssue("1"))?.value?.issue?.title == "a"
    }
    // From then on, it hears of others at once.
    try await first.request(GetIssue("1"), issue("1", "b"))
    try await wait(for: "b", in: second)
  }

  @Test func `N16: what others have written, and could not be read when they did, is read later`() async throws {
    let (storage, errors) = (records.opened(), Monitor(0))
    let first = try process()
    let second = try NormalizedWorld(sharing: storage) { $0.onStorageError = { _ in errors.update { $0 += 1 } } }
    await second.store.load()
    storage.failReading(1)
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await errors.wait { $0 == 1 }
    try await eventually { second.time.pendingCount > 0 }
    second.time.advance(by: .seconds(1))
    try await wait(for: "a", in: second)
  }

  @Test func `what cannot be read is tried again after pauses that double, also if there is nothing to write`()
    async throws
  {
    let (storage, first, errors) = (records.opened(), try process(), Monitor(0))
    let second = try NormalizedWorld(sharing: storage) { $0.onStorageError = { _ in errors.update { $0 += 1 } } }
    await second.store.load()
    storage.failReading(1_000)
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await errors.wait { $0 == 1 }
    for (number, pause) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
      try await eventually { second.time.pendingCount == 1 }
      second.time.advance(by: .seconds(pause) - .milliseconds(1))
      #expect(storage.failingReadCount == 999 - number)
      second.time.advance(by: .milliseconds(1))
      try await eventually { storage.failingReadCount == 998 - number }
    }
  }

  /// A scheduler whose delayed actions have run, and been waited for, when they are scheduled: so late is the thread that
  /// schedules them.
  private struct HastyScheduler: Scheduler {
    let isDone: @Sendable () -> Bool
    var now: Duration { .zero }

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(after: .zero, action) }

    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      action()
      while !isDone() { sched_yield() }
      return Disposables.create()
    }
  }

  @Test func `N16: a process hears of others also if it has tried again before it knew that it failed`() async throws {
    let (storage, first) = (records.opened(), try process())
    let readCount = Mutable(0)
    storage.onRead { _ in readCount.update { $0 += 1 } }
    let second = try NormalizedWorld(sharing: storage) {
      $0.idleTime = nil
      // The first read is that of all, the second one succeeds after one that has failed.
      $0.clock = .scheduler(HastyScheduler { readCount.value > 1 }, start: StoreTime(microseconds: 1_000_000))
    }
    await second.store.load()
    storage.failReading(1)
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    try await first.request(GetIssue("1"), issue("1", "b"))
    try await wait(for: "b", in: second)
  }
}
