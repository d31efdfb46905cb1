import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Processes that share records, while the storage fails, or something changes in the middle of a call.
@Suite struct NormalizedSharingFaultTests {
  private let records = SharedRecords()
  private let errors = Mutable<[NormalizedStorageError]>([])

  /// One process, which hears nothing, and its way to the storage.
  private func opened(schema: RecordSchema? = nil) throws -> (NormalizedWorld, SharedRecords.Opened) {
    let storage = records.opened()
    storage.setDeaf(true)
    let world = try NormalizedWorld(sharing: storage, schema: schema) { [errors] in
      $0.onStorageError = { error in errors.update { $0 += [error].compactMap { $0 as? NormalizedStorageError } } }
    }
    return (world, storage)
  }

  private func process() throws -> NormalizedWorld { try opened().0 }

  /// Two processes that have issue 1 with the title a.
  private func two() async throws -> (NormalizedWorld, NormalizedWorld, storage: SharedRecords.Opened) {
    let (first, (second, storage)) = (try process(), try opened())
    try await first.request(GetIssue("1"), issue("1", "a"))
    #expect(second.title == "a")
    return (first, second, storage)
  }

  /// Checks that two processes, and one that begins now, have a title of issue 1.
  private func expect(_ title: String?, in first: NormalizedWorld, _ second: NormalizedWorld) throws {
    for world in [first, second] { try world.store.takeOthers() }
    #expect([first.title, second.title, try process().title] == [title, title, title])
  }

  /// Adds an entry that nobody can read.
  private func addGarbage() throws {
    let (storage, last) = (records.opened(), records.entries.last?.position)
    let entry = RecordEntry(last?.next ?? RecordPosition(journal: 1, number: 0), [9, 9])
    if let last {
      #expect(try storage.append(entry, after: last))
    } else {
      #expect(try storage.replaceAll(with: entry, after: nil))
    }
  }

  // MARK: In the middle

  @Test func `what changes while others' entries are read is above them in all processes`() async throws {
    let (first, second, storage) = try await two()
    try await first.request(GetIssue("1"), issue("1", "b"))
    let get = Recorder(second.store.get(GetIssue("1"), .networkOnly))
    let isAnswered = Mutable(false)
    storage.onRead { [server = second.server] _ in
      if isAnswered.update({ exchange(&$0, with: true) }) { return }
      server.last.data(issue("1", "c"))
    }
    try second.store.takeOthers()
    try await get.waitForCompletion()
    try expect("c", in: first, second)
  }

  @Test func `nothing stays of what is read while everything is removed`() async throws {
    let (first, second, storage) = try await two()
    try await first.request(GetIssue("2"), issue("2", "b"))
    storage.onRead { [records = second.store.records] _ in
      records.withLock { if $0.epoch == 0 { $0.removeAll(now: StoreTime(microseconds: 1_000_000)) } }
    }
    try second.store.takeOthers()
    try second.store.journal?.removeAll()
    #expect(second.store.missingPath(of: GetIssue("2")) != nil)
    #expect(records.entries == [])
  }

  // MARK: Operations

  @Test func `a response that is written after another process has invalidated its operation counts in all`()
    async throws
  {
    let (first, second, _) = try await two()
    try first.store.invalidate(GetIssue("1"))
    for world in [first, second] { world.time.advance(by: .seconds(1)) }
    try await second.request(GetIssue("1"), issue("1", "b"))
    try first.store.takeOthers()
    let next = try process()
    next.time.advance(by: .seconds(1))
    for world in [first, second, next] { #expect(world.store.peek(GetIssue("1"))?.isStale == false) }
  }

  @Test func `an operation that was invalidated, and requested after that, is not out of date in others`() async throws
  {
    let (first, second, _) = try await two()
    try first.store.invalidate(GetIssue("1"))
    try await first.request(GetIssue("1"), issue("1", "a"))
    try second.store.takeOthers()
    for world in [first, second, try process()] { #expect(world.store.peek(GetIssue("1"))?.isStale == false) }
  }

  @Test func `a journal that is replaced tells watchers nothing that they know`() async throws {
    let (first, second, _) = try await two()
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    #expect(watcher.brief() == ["1 a OPEN memory"])
    let long = String(repeating: "x", count: 100_000)
    for number in 0..<5 { try await first.request(GetIssue("2"), issue("2", "\(number)" + long)) }
    #expect(records.entries.count < 5)
    try second.store.takeOthers()
    #expect(second.store.peek(GetIssue("2"))?.value?.issue?.title == "4" + long)
    #expect(watcher.brief() == [])
  }

  @Test func `what another process says of an operation costs nothing for each of the others that are watched`()
    async throws
  {
    func cost(watching count: Int) async throws -> Duration {
      let records = SharedRecords()
      let first = try NormalizedWorld(sharing: records.opened())
      let storage = records.opened()
      storage.setDeaf(true)
      let second = try NormalizedWorld(sharing: storage)
      let watching = (0..<count).map { second.store.stream(GetIssue("\($0)"), .cacheOnly).subscribe(onNext: { _ in }) }
      defer { for watcher in watching { watcher.dispose() } }
      var least = Duration.seconds(60)
      for number in 0..<20 {
        try await first.request(GetIssue("new"), issue("new", "\(number)"))
        for world in [first, second] { world.time.advance(by: .seconds(1)) }
        least = min(least, try ContinuousClock().measure { try second.store.takeOthers() })
      }
      return least
    }
    let (few, many) = (try await cost(watching: 10), try await cost(watching: 5_000))
    #expect(many < few * 5 + .milliseconds(1))
  }

  @Test func `processes that write in turn do not replace the journal each time`() async throws {
    let worlds = [try process(), try process()]
    let long = String(repeating: "x", count: 20_000)
    for number in 0..<20 { try await worlds[0].request(GetIssue("\(number)"), issue("\(number)", "\(long)")) }
    var (replacements, count) = (0, records.entries.count)
    for number in 0..<50 {
      try await worlds[number % 2].request(GetIssue("\(number % 20)"), issue("\(number % 20)", "\(number)\(long)"))
      if records.entries.count <= count { replacements += 1 }
      count = records.entries.count
    }
    // They write 1 MB, of which 0.4 MB count.
    #expect(replacements <= 3)
  }

  // MARK: A storage that has lost something

  @Test func `N16: processes end with the same records after a storage has lost the last entries`() async throws {
    let (first, second, _) = try await two()
    let backup = records.backup
    try await first.request(GetIssue("1"), issue("1", "b"))
    try second.store.takeOthers()
    try await first.request(GetIssue("2"), issue("2", "c"))
    records.restore(backup)
    for world in [first, second] { try world.store.catchUpNow() }
    try expect("b", in: first, second)
    for world in [first, second, try process()] {
      #expect(world.store.peek(GetIssue("2"))?.value?.issue?.title == "c", "what was written is written again")
    }
  }

  @Test func `N16: so they do if others have written something in the place of what was lost`() async throws {
    let (first, second, _) = try await two()
    try await first.request(GetIssue("2"), issue("2", "a"))
    let backup = records.backup
    try await first.request(GetIssue("2"), issue("2", "b"))
    try second.store.takeOthers()
    records.restore(backup)
    let third = try process()
    try await third.request(GetIssue("1"), issue("1", "c"))
    // It has the number of the last entry that they have read.
    for world in [first, second, third] { try world.store.catchUpNow() }
    try expect("c", in: first, second)
    for world in [first, second, third, try process()] {
      #expect(world.store.peek(GetIssue("2"))?.value?.issue?.title == "b")
    }
  }

  @Test func `N16: so they do if it loses them twice`() async throws {
    let first = try process()
    try await first.request(GetIssue("1"), issue("1", "a"))
    let backup = records.backup
    try await first.request(GetIssue("1"), issue("1", "b"))
    for title in ["c", "d"] {
      records.restore(backup)
      try first.store.catchUpNow()
      #expect(try process().title == (title == "c" ? "b" : "c"))
      try await first.request(GetIssue("1"), issue("1", title))
    }
    #expect(try process().title == "d")
  }

  @Test func `S1: what the server has refused does not come back with a backup`() async throws {
    let (first, second, _) = try await two()
    let backup = records.backup
    let get = Recorder(first.store.get(GetIssue("1"), .networkOnly))
    first.server.last.answer("{}", status: 403)
    try await get.waitForEnd()
    records.restore(backup)
    try first.store.catchUpNow()
    try second.store.takeOthers()
    for world in [first, second, try process()] { #expect(world.title == nil) }
  }

  @Test func `of a backup of which a process has read nothing, it takes all`() async throws {
    let (first, second, _) = try await two()
    let storage = records.opened()
    let last = try #require(records.entries.last)
    var other = last
    other.bytes += [RecordStatement.section.rawValue]
    try second.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    records.replace([other])
    try second.store.takeOthers()
    try expect("a", in: first, second)
    #expect(try storage.read(after: nil).entries == [other])
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `N16: processes end with the same records whatever is restored in between`(seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    var worlds = try (0..<3).map { _ in try process() }
    var (log, backups) = ([String](), [SharedRecords.Backup]())
    for step in 0..<60 {
      let number = Int.random(in: 0..<3, using: &random)
      let (world, id) = (worlds[number], "\(Int.random(in: 1...3, using: &random))")
      let kind = Int.random(in: 0..<10, using: &random)
      log.append("\(kind) \(number) \(id)")
      switch kind {
      case 0, 1, 2: try await world.request(GetIssue(id), issue(id, "t\(step)", "s\(step)"))
      case 3: try world.store.update(GetIssue(id)) { $0.issue?.title = "e\(step)" }
      case 4: world.store.invalidate(EntityID("Issue", id: id))
      case 5: backups.append(records.backup)
      case 6: if let backup = backups.randomElement(using: &random) { records.restore(backup) }
      case 7: if step % 5 == 0 { try await world.store.clear() } else { worlds[number] = try process() }
      default: try? world.store.takeOthers()
      }
    }
    for (number, world) in worlds.enumerated() { try await world.request(GetIssue("9"), issue("9", "\(number)")) }
    for _ in 0..<2 { for world in worlds { try world.store.catchUpNow() } }
    let fresh = try process()
    for (world, id) in worlds.flatMap({ world in ["1", "2", "3", "9"].map { (world, $0) } }) {
      // Where something is missing, who has read it keeps the last value.
      let missing = fresh.store.missingPath(of: GetIssue(id))
      #expect(world.store.missingPath(of: GetIssue(id)) == missing, "issue \(id) after \(log)")
      guard missing == nil else { continue }
      let (shown, kept) = (world.store.peek(GetIssue(id))?.value, fresh.store.peek(GetIssue(id))?.value)
      #expect(shown == kept, "issue \(id) after \(log)")
    }
  }

  // MARK: A storage that fails

  @Test func `N16: a removal costs others nothing else if they have been quicker each time`() async throws {
    let (first, second, storage) = try await two()
    try await first.request(GetIssue("2"), issue("2", "b"))
    let other = records.opened()
    storage.onRead { [records] _ in
      guard let last = records.entries.last?.position else { return }
      _ = try? other.append(RecordEntry(last.next, [RecordStatement.section.rawValue]), after: last)
    }
    second.store.invalidate(EntityID("Issue", id: "1"))
    #expect(errors.value == [.busy])
    #expect(try process().store.peek(GetIssue("2"))?.value?.issue?.title == "b")
    storage.onRead { _ in }
    second.time.advance(by: .seconds(1))
    try await eventually { try process().store.missingPath(of: GetIssue("1")) != nil }
  }

  @Test(arguments: [false, true])
  func `what was written although that failed does not undo what others have written since`(isReplacement: Bool)
    async throws
  {
    let (first, second, storage) = try await two()
    if isReplacement {
      records.fail(1)
      try await second.request(GetIssue("2"), issue("2", "x"))
    }
    storage.loseAnswers(1)
    try await second.request(GetIssue("1"), issue("1", "b"))
    try await first.request(GetIssue("1"), issue("1", "c"))
    try await second.request(GetIssue("3"), issue("3", "d"))
    try expect("c", in: first, second)
    #expect(try process().store.peek(GetIssue("3"))?.value?.issue?.title == "d")
  }

  @Test func `what changes after a write that failed, and was made, is written`() async throws {
    let (first, second, storage) = try await two()
    storage.loseAnswers(1)
    try await second.request(GetIssue("1"), issue("1", "b"))
    records.fail(1)
    try await second.request(GetIssue("1"), issue("1", "c"))
    try await second.request(GetIssue("2"), issue("2", "d"))
    try expect("c", in: first, second)
    #expect(try process().store.peek(GetIssue("2"))?.value?.issue?.title == "d")
  }

  @Test func `a storage that gives entries twice ends nothing`() async throws {
    let (first, second, storage) = try await two()
    storage.loseAnswers(1)
    try await second.request(GetIssue("1"), issue("1", "b"))
    try await first.request(GetIssue("1"), issue("1", "c"))
    storage.onRead { $0.entries += $0.entries }
    try second.store.takeOthers()
    #expect(second.title == "c")
  }

  // MARK: Damage

  @Test func `damage that is found later is reported once, and replaced with the next change`() async throws {
    let (first, second, storage) = try await two()
    storage.onRead { $0.lostBytes = 7 }
    for _ in 0..<2 { try second.store.takeOthers() }
    #expect(errors.value == [.damaged(lostBytes: 7)])
    storage.onRead { _ in }
    try await second.request(GetIssue("2"), issue("2", "b"))
    #expect(records.entries.count == 1)
    try expect("a", in: first, second)
  }

  @Test func `a journal that cannot be read at all is no removal`() async throws {
    let (_, second, storage) = try await two()
    storage.onRead { $0 = RecordTail(last: nil, lostBytes: 7) }
    try second.store.takeOthers()
    #expect(errors.value == [.damaged(lostBytes: 7)])
    #expect(second.title == "a")
  }

  @Test func `what a process writes is above what comes before an entry that nobody can read`() async throws {
    let (first, second, _) = try await two()
    try await first.request(GetIssue("1"), issue("1", "b"))
    try addGarbage()
    try second.store.update(GetIssue("1")) { $0.issue?.title = "c" }
    try expect("c", in: first, second)
  }

  @Test func `what comes before an entry that nobody can read is shown`() async throws {
    let (first, second, _) = try await two()
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    try await first.request(GetIssue("1"), issue("1", "b"))
    try addGarbage()
    try second.store.takeOthers()
    try await eventually { watcher.elements.value.last?.brief == "1 b OPEN memory" }
  }

  @Test func `a process that has missed a part, and cannot read the rest, keeps what it has`() async throws {
    let (first, second, _) = try await two()
    try await first.request(GetIssue("2"), issue("2", "b"))
    let last = try #require(records.entries.last?.position)
    #expect(try records.opened().replaceAll(with: RecordEntry(last.next, [9, 9]), after: last))
    try second.store.takeOthers()
    #expect(second.title == "a")
    try await second.request(GetIssue("3"), issue("3", "c"))
    try expect("a", in: first, second)
  }

  @Test func `a process that could not read anything at first removes nothing of what others have repaired`()
    async throws
  {
    let (first, second, _) = try await two()
    try addGarbage()
    let third = try process()
    #expect(third.title == nil)
    // They find the damage, and repair it.
    try await first.request(GetIssue("1"), issue("1", "b"))
    try third.store.takeOthers()
    try await first.request(GetIssue("3"), issue("3", "d"))
    try await third.request(GetIssue("2"), issue("2", "c"))
    try expect("b", in: first, second)
    #expect(try process().store.peek(GetIssue("3"))?.value?.issue?.title == "d")
  }

  @Test(arguments: [false, true])
  func `N16: nothing of a signed-out account is written back by a process that could not remove something`(
    isSignedOutBefore: Bool
  ) async throws {
    let (first, second, _) = try await two()
    try await first.request(GetIssue("2"), issue("2", "b"))
    try second.store.takeOthers()
    #expect(second.store.peek(GetIssue("2"))?.value?.issue?.title == "b")
    let get = Recorder(second.store.get(GetIssue("1"), .networkOnly))
    if isSignedOutBefore { try await first.store.signOut() }
    records.fail(1)
    second.server.last.answer("{}", status: 403)
    try await get.waitForEnd()
    if !isSignedOutBefore { try await first.store.signOut() }
    second.time.advance(by: .seconds(1))
    try await eventually { second.store.peek(GetIssue("2")) == nil }
    try await second.request(GetIssue("3"), issue("3", "c"))
    let next = try process()
    #expect(next.store.peek(GetIssue("3"))?.value?.issue?.title == "c")
    #expect(next.store.missingPath(of: GetIssue("2")) != nil)
  }

  @Test func `N16: what was requested while a storage was empty is not kept after a sign-out elsewhere`() async throws {
    let (first, second) = (try process(), try process())
    #expect([first.title, second.title] == [nil, nil])
    records.fail(1)
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await first.store.signOut()
    try await second.request(GetIssue("2"), issue("2", "b"))
    #expect(try process().title == nil)
    #expect(second.title == nil)
  }

  @Test func `what was requested while a storage was empty is kept if others begin it`() async throws {
    let (first, second) = (try process(), try process())
    #expect([first.title, second.title] == [nil, nil])
    records.fail(1)
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await first.request(GetIssue("2"), issue("2", "b"))
    try second.store.catchUpNow()
    try expect("a", in: first, second)
  }

  @Test(arguments: [false, true])
  func `N16: after a sign-out elsewhere nothing is shown, also if nobody can read what follows`(hasOtherKeys: Bool)
    async throws
  {
    let (first, second, _) = try await two()
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    try await first.store.signOut()
    if hasOtherKeys {
      var schema = try RecordSchema(NormalizedWorld.schema)
      schema.keyFields["User"] = ["email"]
      try await opened(schema: schema).0.request(GetIssue("2"), issue("2", "b"))
    } else {
      try addGarbage()
    }
    try second.store.takeOthers()
    try await eventually { watcher.elements.value.last?.brief == "-" }
    #expect(second.title == nil)
  }
}

extension NormalizedWorld {
  /// What is cached as the title of issue 1.
  fileprivate var title: String? { store.peek(GetIssue("1"))?.value?.issue?.title }
}
