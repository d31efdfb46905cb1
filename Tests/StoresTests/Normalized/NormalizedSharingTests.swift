import Dispatch
import Foundation
import GraphQLClient
import StoreConformance
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Normalised stores of several processes, which share a storage of records.
@Suite struct NormalizedSharingTests {
  private let records = SharedRecords()

  /// One process, and its way to the storage.
  private func process(
    isDeaf: Bool = false, schema: RecordSchema? = nil, _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws -> NormalizedWorld {
    let storage = records.opened()
    storage.setDeaf(isDeaf)
    return try NormalizedWorld(sharing: storage, schema: schema, change)
  }

  /// Waits until a process shows a title of issue 1.
  private func wait(for title: String?, in world: NormalizedWorld) async throws {
    _ = try await world.store.stream(GetIssue("1"), .cacheOnly).filter { $0.value?.issue?.title == title }.value
  }

  @Test(arguments: RecordStorageConformance.cases + RecordStorageConformance.sharingCases)
  func `the storage of these tests conforms`(_ test: RecordStorageConformance.Case) throws {
    let partitions = ["a": SharedRecords(), "b": SharedRecords()]
    try test.check { try #require(partitions[$0]).opened() }
  }

  @Test func `a process begins with what others have written`() async throws {
    let first = try process()
    try await first.request(GetIssue("1"), issue("1", "a"))
    let second = try process()
    #expect(second.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
    await second.store.load()
    #expect(second.server.count == 0)
  }

  @Test func `N16: a response that one process gets shows in the others' watchers`() async throws {
    let (first, second) = (try process(), try process())
    try await second.request(GetIssue("1"), issue("1", "a"))
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheFirst))
    #expect(watcher.brief() == ["1 a OPEN memory"])
    try await first.request(GetIssues(), issues(("1", "b")))
    try await eventually { !watcher.elements.value.isEmpty }
    #expect(watcher.brief() == ["1 b OPEN memory"])
    #expect(second.server.count == 1)
  }

  @Test func `N16: a mutation and an edit in one process show in the others`() async throws {
    let (first, second) = (try process(), try process())
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: first)
    let mutation = Recorder(first.store.mutate(RenameIssue("1", "b")))
    first.server.last.data(renamed("1", "b"))
    try await mutation.waitForCompletion()
    try await wait(for: "b", in: second)
    try first.store.update(GetIssue("1")) { $0.issue?.title = "c" }
    try await wait(for: "c", in: second)
  }

  @Test func `N16: an entity that one process invalidates is requested again by the others' watchers`() async throws {
    let (first, second) = (try process(), try process())
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: first)
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheFirst))
    let asked = second.server.count
    first.store.invalidate(EntityID("Issue", id: "1"))
    try await second.server.wait(for: asked + 1)
    second.server.last.data(issue("1", "b"))
    for world in [first, second] { try await wait(for: "b", in: world) }
    try await eventually { watcher.elements.value.last?.brief == "1 b OPEN network" }
  }

  @Test(arguments: [false, true])
  func `N16: what the server refuses to one process is shown by no other`(isReplaced: Bool) async throws {
    let (first, second) = (try process(), try process())
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    if isReplaced {
      let long = String(repeating: "x", count: 300_000)
      for _ in 0..<2 { try await first.request(GetIssue("2"), issue("2", long)) }
    }
    let count = records.entries.count
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    #expect(watcher.brief() == ["1 a OPEN memory"])
    let get = Recorder(first.store.get(GetIssue("1"), .networkOnly))
    first.server.last.answer("{}", status: 403)
    try await get.waitForEnd()
    try await eventually { watcher.elements.value.last.map { $0.value == nil } == true }
    #expect(second.store.peek(GetIssue("1")) == nil)
    #expect((records.entries.count <= count) == isReplaced)
  }

  /// Lets a process replace the journal.
  private func replace(by world: NormalizedWorld) async throws {
    let long = String(repeating: "x", count: 300_000)
    for number in 0..<5 { try await world.request(GetIssue("2"), issue("2", "\(number)\(long)")) }
    #expect(records.entries.count <= 4)
  }

  @Test(arguments: 0...2)
  func `N16: so it is if the journal was replaced since`(replacedBy: Int) async throws {
    let (first, second) = (try process(), try process(isDeaf: true))
    try await first.request(GetIssue("1"), issue("1", "a"))
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    #expect(watcher.brief() == ["1 a OPEN memory"])
    let get = Recorder(first.store.get(GetIssue("1"), .networkOnly))
    first.server.last.answer("{}", status: 403)
    try await get.waitForEnd()
    let replacing = replacedBy == 0 ? first : try process()
    if replacedBy == 2 { replacing.store.invalidate(EntityID("Issue", id: "2")) }
    try await replace(by: replacing)
    try second.store.takeOthers()
    #expect(watcher.take().last.map { $0.value == nil } == true)
    // What is requested again is there. What others have written would come during the request else.
    try first.store.takeOthers()
    try await first.request(GetIssue("1"), issue("1", "b"))
    try await replace(by: first)
    try second.store.takeOthers()
    #expect(watcher.take().last?.value?.issue?.title == "b")
  }

  @Test(arguments: [false, true])
  func `N16: a response does not count as older than what another process has only written again`(keepsUp: Bool)
    async throws
  {
    let (first, other) = (try process(isDeaf: true), try process())
    try await first.request(GetIssue("1"), issue("1", "a"))
    let get = Recorder(first.store.get(GetIssue("1"), .networkOnly))
    let long = String(repeating: "x", count: 300_000)
    for number in 0..<5 {
      try await other.request(GetIssue("2"), issue("2", "\(number)\(long)"))
      if keepsUp { try first.store.takeOthers() }
    }
    try first.store.takeOthers()
    first.server.last.data(issue("1", "b"))
    try await get.waitForCompletion()
    #expect(first.store.peek(GetIssue("1"))?.brief == "1 b OPEN memory")
  }

  @Test func `S1: what a 401 has hidden in a process stays hidden whatever others write`() async throws {
    let (first, second) = (try process(), try process(isDeaf: true))
    try await first.request(GetIssue("1"), issue("1", "a"))
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    #expect(watcher.brief() == ["1 a OPEN memory"])
    let get = Recorder(second.store.get(GetIssue("2"), .networkOnly))
    second.server.last.answer("{}", status: 401)
    try await get.waitForEnd()
    #expect(watcher.brief() == ["-"])
    // The next process finds it hidden, too.
    let third = try process(isDeaf: true)
    let next = Recorder(third.store.stream(GetIssue("1"), .cacheOnly))
    try await first.request(GetIssue("1"), issue("1", "b"))
    try first.store.update(GetIssue("1")) { $0.issue?.title = "c" }
    for world in [second, third] { try world.store.takeOthers() }
    try await first.store.clear()
    try await first.request(GetIssue("1"), issue("1", "d"))
    for world in [second, third] {
      try world.store.takeOthers()
      #expect(world.store.peek(GetIssue("1"))?.value == nil)
    }
    #expect(watcher.take().allSatisfy { $0.value == nil })
    #expect(next.take().allSatisfy { $0.value == nil })
    // Until the server accepts a request.
    for world in [second, third] { try await world.request(GetIssue("2"), issue("2", "x")) }
    #expect(watcher.take().last?.value?.issue?.title == "d")
    #expect(next.take().last?.value?.issue?.title == "d")
    #expect(!records.opened().isRefused)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `E1: a watcher that stalls keeps a process neither from writing nor from hearing of others`(isDeaf: Bool)
    async throws
  {
    let (first, second) = (try process(), try process(isDeaf: isDeaf))
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    let (entered, gate) = (Monitor(false), DispatchSemaphore(value: 0))
    let watcher = second.store.stream(GetIssue("1"), .cacheOnly).subscribe(onNext: { snapshot in
      guard snapshot.value?.issue?.title == "b" else { return }
      entered.update { $0 = true }
      gate.wait()
    })
    defer {
      gate.signal()
      watcher.dispose()
    }
    try await first.request(GetIssue("1"), issue("1", "b"))
    // One that is not notified learns of it when it writes.
    try await second.request(GetIssue("2"), issue("2", "x"))
    try await entered.wait { $0 }
    try await second.request(GetIssue("3"), issue("3", "y"))
    try await first.request(GetIssue("4"), issue("4", "z"))
    try await second.request(GetIssue("5"), issue("5", "z"))
    let ids = ["2", "3", "5"].map { try? process().store.peek(GetIssue($0))?.value?.issue?.title }
    #expect(ids == ["x", "y", "z"])
    _ = try await second.store.stream(GetIssue("4"), .cacheOnly).filter { $0.value?.issue?.title == "z" }.value
  }

  @Test func `what others have written is not stale because their clocks are ahead`() async throws {
    var time = Duration.zero
    func process() throws -> NormalizedWorld {
      try self.process(isDeaf: true) { [time] in
        $0.clock = .scheduler(TestScheduler(), start: StoreTime(microseconds: 1_000_000) + time)
        $0.staleTimes = ["Issue": .seconds(600)]
      }
    }
    let second = try process()
    await second.store.load()
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    _ = watcher.take()
    time = .milliseconds(20)
    try await process().request(GetIssue("1"), issue("1", "a"))
    try second.store.takeOthers()
    #expect(watcher.brief() == ["1 a OPEN memory"])
    // Nobody knows how old it is if that is more than clocks differ by.
    time = .seconds(3_600)
    try await process().request(GetIssue("1"), issue("1", "b"))
    try second.store.takeOthers()
    #expect(second.store.peek(GetIssue("1"))?.isStale == true)
  }

  @Test(arguments: [false, true])
  func `N16: an operation that one process invalidates is out of date in the others`(isRequestedThere: Bool)
    async throws
  {
    let (first, second) = (try process(), try process())
    try await (isRequestedThere ? second : first).request(GetIssue("1"), issue("1", "a"))
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheFirst))
    let asked = second.server.count
    try await wait(for: "a", in: first)
    try first.store.invalidate(GetIssue("1"))
    try await second.server.wait(for: asked + 1)
    second.server.last.data(issue("1", "b"))
    for world in [first, second] { try await wait(for: "b", in: world) }
    try await eventually { watcher.elements.value.last?.brief == "1 b OPEN network" }
    #expect(first.store.peek(GetIssue("1"))?.isStale == false)
  }

  @Test func `a response makes an operation younger in all processes`() async throws {
    let freshness: (inout NormalizedConfiguration) -> Void = { $0.freshness.staleTime = .seconds(10) }
    let (first, second) = (try process(freshness), try process(freshness))
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: first)
    for world in [first, second] { world.time.advance(by: .seconds(11)) }
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    #expect(watcher.brief() == ["1 a OPEN memory ~"])
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await second.store.stream(GetIssue("1"), .cacheOnly).filter { !$0.isStale }.map { _ in }.value
    #expect(second.store.peek(GetIssue("1"))?.age == .zero)
  }

  @Test func `what was requested before another process's change settles below that`() async throws {
    let (first, second) = (try process(), try process())
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    let slow = Recorder(second.store.get(GetIssue("1"), .networkOnly))
    let request = second.server.last
    let mutation = Recorder(first.store.mutate(RenameIssue("1", "b")))
    first.server.last.data(renamed("1", "b"))
    try await mutation.waitForCompletion()
    try await wait(for: "b", in: second)
    request.data(issue("1", "a", "CLOSED"))
    try await slow.waitForCompletion()
    for world in [first, second, try process()] {
      try world.store.takeOthers()
      #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 b CLOSED")
    }
  }

  @Test func `a response that another process's change hides does not hide the responses of others in its turn`()
    async throws
  {
    let worlds = try (0..<3).map { _ in try process(isDeaf: true) }
    let (first, second, third) = (worlds[0], worlds[1], worlds[2])
    // The first process has asked before the server's change, and the second one after it.
    let early = Recorder(second.store.get(GetIssue("1"), .networkOnly))
    try await first.request(GetIssue("1"), issue("1", "a"))
    for world in [second, third] { try world.store.takeOthers() }
    let late = Recorder(third.store.get(GetIssue("1"), .networkOnly))
    second.server.last.data(issue("1", "b"))
    try await early.waitForCompletion()
    #expect(second.store.peek(GetIssue("1"))?.value?.description == "1 a OPEN")
    // The second one has nothing to say to others of what it does not show.
    try third.store.takeOthers()
    third.server.last.data(issue("1", "b"))
    try await late.waitForCompletion()
    for world in worlds {
      try world.store.takeOthers()
      #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 b OPEN")
    }
  }

  @Test func `what an optimistic change shows stays above what others write`() async throws {
    let (first, second) = (try process(), try process())
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    let mutation = Recorder(
      second.store.mutate(RenameIssue("1", "x"), optimisticResponse: ["rename": ["id": "1", "title": "x"]]))
    try await first.request(GetIssue("1"), issue("1", "b", "CLOSED"))
    _ = try await second.store.stream(GetIssue("1"), .cacheOnly).filter { $0.value?.issue?.state == "CLOSED" }.value
    #expect(second.store.peek(GetIssue("1"))?.brief == "1 x CLOSED optimistic")
    mutation.dispose()
    #expect(second.store.peek(GetIssue("1"))?.value?.description == "1 b CLOSED")
  }

  @Test func `processes that write at the same time lose nothing`() async throws {
    let (first, second) = (try process(isDeaf: true), try process(isDeaf: true))
    // Both begin a journal.
    #expect(first.store.peek(GetIssue("1")) == nil && second.store.peek(GetIssue("2")) == nil)
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await second.request(GetIssue("2"), issue("2", "b"))
    // Then both add to it.
    try await first.request(GetIssue("3"), issue("3", "c"))
    try await second.request(GetIssue("4"), issue("4", "d"))
    try first.store.takeOthers()
    for world in [first, second, try process()] {
      let titles = (1...4).map { world.store.peek(GetIssue("\($0)"))?.value?.issue?.title }
      #expect(titles == ["a", "b", "c", "d"])
    }
  }

  @Test func `of two changes of the same, the later one counts in all processes`() async throws {
    let (first, second) = (try process(isDeaf: true), try process(isDeaf: true))
    try await first.request(GetIssue("1"), issue("1", "a", "OPEN"))
    #expect(second.store.peek(GetIssue("1"))?.value?.description == "1 a OPEN")
    try await first.request(GetIssue("1"), issue("1", "b", "MERGED"))
    try second.store.update(GetIssue("1")) { $0.issue?.title = "c" }
    try first.store.takeOthers()
    for world in [first, second, try process()] {
      #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 c MERGED")
    }
  }

  @Test func `what has changed and is still to be written stays above what others have written before it`() async throws
  {
    let (first, second) = (try process(isDeaf: true), try process(isDeaf: true))
    try await first.request(GetIssue("1"), issue("1", "a"))
    #expect(second.store.peek(GetIssue("1"))?.value?.issue?.title == "a")
    try await first.request(GetIssue("1"), issue("1", "b", "MERGED"))
    let edits = NormalizedEdits(second.store, nil, isOptimistic: false)
    try edits.update(GetIssue("1")) { $0.issue?.title = "c" }
    try second.store.takeOthers()
    try await second.store.flush()
    try first.store.takeOthers()
    for world in [first, second, try process()] {
      #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 c MERGED")
    }
  }

  @Test func `N16: after one process has removed everything, the others show nothing of it`() async throws {
    let (first, second) = (try process(), try process())
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await wait(for: "a", in: second)
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    try await first.store.clear()
    try await eventually { watcher.elements.value.last?.value == nil }
    try await eventually { watcher.elements.value.last?.brief == "-" }
    #expect(second.store.peek(GetIssue("1")) == nil)
    // What begins then is for all.
    try await second.request(GetIssue("1"), issue("1", "b"))
    try await wait(for: "b", in: first)
    #expect(records.entries.count == 1)
  }

  @Test func `after a sign-out, what another process had requested before is not kept by it`() async throws {
    let (first, second) = (try process(), try process(isDeaf: true))
    try await first.request(GetIssue("1"), issue("1", "a"))
    #expect(second.store.peek(GetIssue("1"))?.value != nil)
    let slow = Recorder(second.store.get(GetIssue("1"), .networkOnly))
    try await first.store.signOut()
    try second.store.takeOthers()
    second.server.last.data(issue("1", "late"))
    try await slow.waitForCompletion()
    #expect(records.hasSignOutAlone)
    #expect(second.store.peek(GetIssue("1")) == nil)
  }

  @Test func `a process that has missed a part of the journal gets all of it, without what was removed meanwhile`()
    async throws
  {
    let (first, second) = (try process(), try process(isDeaf: true))
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await first.request(GetIssue("2"), issue("2", "b"))
    #expect(second.store.peek(GetIssue("1"))?.value != nil && second.store.peek(GetIssue("2"))?.value != nil)
    let mutation = Recorder(second.store.mutate(RenameIssue("3", "c")))
    first.store.invalidate(EntityID("Issue", id: "2"))
    let long = String(repeating: "x", count: 100_000)
    for number in 0..<10 { try await first.request(GetIssue("1"), issue("1", "\(number)" + long)) }
    #expect(records.entries.count < 8)
    try second.store.takeOthers()
    #expect(second.store.peek(GetIssue("1"))?.value?.issue?.title == "9" + long)
    #expect(second.store.missingPath(of: GetIssue("2")) == "issue.__typename")
    second.server.last.data(renamed("3", "c"))
    try await mutation.waitForCompletion()
    let next = try process()
    #expect(next.store.peek(GetIssue("1"))?.value?.issue?.title == "9" + long)
    #expect(next.store.records.withLock { $0.cache.entity("Issue", id: "3") } != nil, "its response is kept")
  }

  @Test func `what cannot be written while the storage is away is written later, with what others have`() async throws {
    let errors = Mutable(0)
    let first = try process(isDeaf: true)
    let second = try process(isDeaf: true) { $0.onStorageError = { _ in errors.update { $0 += 1 } } }
    try await first.request(GetIssue("1"), issue("1", "a"))
    #expect(second.store.peek(GetIssue("1"))?.value != nil)
    records.fail(1)
    try await second.request(GetIssue("2"), issue("2", "b"))
    #expect(errors.value == 1)
    try await first.request(GetIssue("3"), issue("3", "c"))
    try await second.request(GetIssue("4"), issue("4", "d"))
    #expect(errors.value == 1)
    let titles = try (1...4).map { try process().store.peek(GetIssue("\($0)"))?.value?.issue?.title }
    #expect(titles == ["a", "b", "c", "d"])
  }

  @Test func `a process that could not read at first has all when the storage is back`() async throws {
    let first = try process(isDeaf: true)
    try await first.request(GetIssue("1"), issue("1", "a"))
    records.fail(1)
    let second = try process()
    #expect(second.store.peek(GetIssue("1")) == nil)
    try await second.request(GetIssue("2"), issue("2", "b"))
    for world in [second, try process()] {
      #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == "a")
      #expect(world.store.peek(GetIssue("2"))?.value?.issue?.title == "b")
    }
  }

  @Test func `a process whose types have other keys continues in memory, and says so`() async throws {
    let errors = Mutable<[NormalizedStorageError]>([])
    let old = try process(isDeaf: true) {
      $0.onStorageError = { error in errors.update { $0 += [error].compactMap { $0 as? NormalizedStorageError } } }
    }
    try await old.request(GetIssue("1"), issue("1", "a"))
    var schema = try RecordSchema(NormalizedWorld.schema)
    schema.keyFields["User"] = ["email"]
    let new = try process(schema: schema)
    #expect(new.store.peek(GetIssue("1")) == nil)
    try await new.request(GetIssue("1"), issue("1", "b"))
    let entries = records.entries
    try old.store.takeOthers()
    #expect(errors.value == [.otherKeys])
    try await old.request(GetIssue("1"), issue("1", "c"))
    #expect(old.store.peek(GetIssue("1"))?.value?.issue?.title == "c")
    #expect(records.entries == entries)
    #expect(old.store.records.withLock { $0.takeLog() }.bytes == [], "nothing is kept for a journal")
  }

  @Test func `an entry that nobody can read is reported, and replaced by what a process has`() async throws {
    let errors = Mutable<[NormalizedStorageError]>([])
    let world = try process(isDeaf: true) {
      $0.onStorageError = { error in errors.update { $0 += [error].compactMap { $0 as? NormalizedStorageError } } }
    }
    try await world.request(GetIssue("1"), issue("1", "a"))
    let last = try #require(records.entries.last)
    #expect(try records.opened().append(RecordEntry(last.position.next, [9, 9]), after: last.position))
    try world.store.takeOthers()
    #expect(errors.value == [.damaged(lostBytes: 2)])
    #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == "a")
    try await world.request(GetIssue("2"), issue("2", "b"))
    #expect(records.entries.count == 1)
    #expect(try process().store.peek(GetIssue("1"))?.value?.issue?.title == "a")
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `N16: any sequence of changes in three processes ends in the same records in all`(seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    var worlds = try (0..<3).map { _ in try process(isDeaf: true) }
    // What is requested of each, and not answered yet.
    var slow: [Int: (Recorder<Snapshot<GetIssuesWithIDs.ResponseData>>, QuietServer.Request, String)] = [:]
    var log: [String] = []
    for step in 0..<60 {
      let number = Int.random(in: 0..<3, using: &random)
      let (world, id) = (worlds[number], "\(Int.random(in: 1...3, using: &random))")
      let kind = Int.random(in: 0..<14, using: &random)
      log.append("\(kind) \(number) \(id)")
      switch kind {
      case 0, 1, 2: try await world.request(GetIssue(id), issue(id, "t\(step)", "s\(step)"))
      case 3:
        let mutation = Recorder(world.store.mutate(RenameIssue(id, "x")))
        world.server.last.data(renamed(id, "m\(step)"))
        try await mutation.waitForCompletion()
      case 4: try world.store.update(GetIssue(id)) { $0.issue?.title = "e\(step)" }
      case 5: world.store.invalidate(EntityID("Issue", id: id))
      case 6: if step % 4 == 0 { try? await world.store.clear() }
      case 7:
        guard slow[number] == nil else { continue }
        let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
        slow[number] = (get, world.server.last, issues((id, "l\(step)")))
      case 8:
        guard let (get, request, data) = slow.removeValue(forKey: number) else { continue }
        request.data(data)
        try await get.waitForEnd()
      case 9: records.fail(Int.random(in: 1...2, using: &random))
      case 10: try await world.request(GetIssues(), issues((id, "i\(step)")))
      case 11:
        slow[number] = nil
        worlds[number] = try process(isDeaf: true)
      default: try? world.store.takeOthers()
      }
    }
    records.fail(0)
    for (get, request, data) in slow.values {
      request.data(data)
      try await get.waitForEnd()
    }
    // What could not be written comes with the next change.
    for (number, world) in worlds.enumerated() { try await world.request(GetIssue("9"), issue("9", "\(number)")) }
    let fresh = try process()
    for world in worlds {
      try world.store.takeOthers()
      for id in ["1", "2", "3", "9"] {
        let (own, wanted) = (world.store.missingPath(of: GetIssue(id)), fresh.store.missingPath(of: GetIssue(id)))
        #expect(own == wanted, "issue \(id) after \(log)")
        guard wanted == nil else { continue }
        let (shown, kept) = (world.store.peek(GetIssue(id))?.value, fresh.store.peek(GetIssue(id))?.value)
        #expect(shown == kept, "issue \(id) after \(log)")
      }
      #expect(world.store.records.withLock { !$0.hasLayers })
    }
  }
}
