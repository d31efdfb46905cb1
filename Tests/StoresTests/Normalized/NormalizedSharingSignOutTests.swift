import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Processes that share records, while one of them signs the account out, and the storage fails.
@Suite(.timeLimit(.minutes(1))) struct NormalizedSharingSignOutTests {
  private let records = SharedRecords()

  /// One process, which hears nothing and has read what is there.
  private func process() throws -> NormalizedWorld {
    let storage = records.opened()
    storage.setDeaf(true)
    let world = try NormalizedWorld(sharing: storage)
    _ = world.title("1")
    return world
  }

  private func signOut(_ world: NormalizedWorld? = nil) async throws {
    try await (world ?? process()).store.signOut()
  }

  @Test func `N16: nothing of a signed-out account is written back if a storage fails twice and then removes`()
    async throws
  {
    let (first, second) = (try process(), try process())
    for id in ["1", "2"] { try await second.request(GetIssue(id), issue(id, "a")) }
    let get = Recorder(second.store.get(GetIssue("1"), .networkOnly))
    try await signOut(first)
    records.fail(2)
    second.server.last.answer("{}", status: 403)
    try await get.waitForEnd()
    try second.store.catchUpNow()
    for world in [second, try process()] { #expect(world.title("2") == nil) }
  }

  @Test(arguments: [false, true])
  func `N16: nothing of a signed-out account is written back if everything is removed after that`(
    isSignOutKnown: Bool
  ) async throws {
    let (first, second) = (try process(), try process())
    records.fail(1)
    try await first.request(GetIssue("1"), issue("1", "a"))
    try await second.request(GetIssue("2"), issue("2", "b"))
    try await signOut()
    if isSignOutKnown { try second.store.takeOthers() }
    try await second.store.clear()
    try first.store.catchUpNow()
    #expect(try process().title("1") == nil)
    #expect(first.title("1") == nil)
  }

  @Test(arguments: [false, true])
  func `N16: nothing of a signed-out account is written after a removal of everything that had failed`(
    failsAgain: Bool
  ) async throws {
    let (first, storage) = (try process(), records.opened())
    storage.setDeaf(true)
    let second = try NormalizedWorld(sharing: storage)
    try await second.request(GetIssue("2"), issue("2", "b"))
    records.fail(2)
    await #expect(throws: SharedRecords.IsAway.self) { try await second.store.clear() }
    records.fail(1)
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await signOut(first)
    if failsAgain {
      storage.onRead { [records] _ in records.fail(1) }
      #expect(throws: SharedRecords.IsAway.self) { try second.store.catchUpNow() }
      storage.onRead { _ in }
    }
    records.fail(0)
    try second.store.catchUpNow()
    for world in [second, try process()] { #expect(world.title("1") == nil) }
  }

  @Test func `what is requested after everything was removed is not lost for an earlier sign-out`() async throws {
    try await signOut()
    let first = try process()
    try await first.request(GetIssue("2"), issue("2", "b"))
    try await first.store.clear()
    let second = try process()
    records.fail(1)
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await first.request(GetIssue("2"), issue("2", "c"))
    for world in [second, first] { try world.store.catchUpNow() }
    for world in [first, second, try process()] { #expect(world.title("1") == "a") }
  }

  @Test func `what is requested after others have removed everything is not lost for an earlier sign-out`()
    async throws
  {
    try await signOut()
    let (first, second) = (try process(), try process())
    try await first.request(GetIssue("2"), issue("2", "b"))
    try second.store.takeOthers()
    records.replace([])
    for world in [first, second] { try world.store.takeOthers() }
    records.fail(1)
    try await second.request(GetIssue("1"), issue("1", "a"))
    try await first.request(GetIssue("2"), issue("2", "c"))
    let third = try process()
    for world in [second, first, third] { try world.store.catchUpNow() }
    for world in [first, second, third] { #expect(world.title("1") == "a") }
  }

  @Test func `the mark of a sign-out stays if a process that could not read it writes after a removal that had failed`()
    async throws
  {
    try await signOut()
    let mark = try #require(records.entries.first?.bytes.signOut)
    let storage = records.opened()
    storage.setDeaf(true)
    let second = try NormalizedWorld(sharing: storage)
    storage.failReading(2)
    #expect(second.title("1") == nil)
    records.fail(1)
    await #expect(throws: SharedRecords.IsAway.self) { try await second.store.clear() }
    try await second.request(GetIssue("1"), issue("1", "a"))
    #expect(records.entries.map(\.bytes.signOut) == [mark])
    #expect(try process().title("1") == "a")
  }

  @Test func `nothing is shown of an account whose sign-out has failed, also if nothing was read before`()
    async throws
  {
    let first = try process()
    try await first.request(GetIssue("1"), issue("1", "a"))
    let second = try NormalizedWorld(sharing: records.opened())
    records.setAway(true)
    await #expect(throws: SharedRecords.IsAway.self) { try await second.store.signOut() }
    records.setAway(false)
    #expect(second.title("1") == nil)
    try await second.store.signOut()
    #expect(records.hasSignOutAlone)
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `N16: nothing from before a sign-out is in the storage after it, and nothing else is lost, whatever fails`(
    seed: UInt64
  ) async throws {
    var random = SplitMix(seed: seed)
    let removes = seed.isMultiple(of: 2)
    func process() throws -> (NormalizedWorld, SharedRecords.Opened) {
      // One that has never read the storage cannot know of a sign-out.
      records.fail(0)
      let storage = records.opened()
      storage.setDeaf(true)
      let world = try NormalizedWorld(sharing: storage)
      _ = world.title("1")
      return (world, storage)
    }
    var worlds = try (0..<3).map { _ in try process() }
    var (log, signedOutAt) = ([String](), -1)
    // The processes that know of the latest sign-out, and the issues that one of them has requested last.
    var (informed, requested) = (Set(0..<3), Set<String>())
    for step in 0..<60 {
      let number = Int.random(in: 0..<3, using: &random)
      let ((world, storage), id) = (worlds[number], "\(Int.random(in: 1...3, using: &random))")
      let kind = Int.random(in: 0..<14, using: &random)
      log.append("\(step): \(kind) \(number) \(id)")
      switch kind {
      case 0, 1, 2:
        if informed.contains(number) { requested.insert(id) } else { requested.remove(id) }
        try await world.request(GetIssue(id), issue(id, "t\(step)z"))
      case 3: try world.store.update(GetIssue(id)) { $0.issue?.title = "t\(step)z" }
      case 4: if removes { world.store.invalidate(EntityID("Issue", id: id)) }
      case 5 where removes:
        let get = Recorder(world.store.get(GetIssue(id), .networkOnly))
        world.server.last.answer("{}", status: 403)
        try await get.waitForEnd()
      case 6: if removes { try? await world.store.clear() }
      case 7:
        records.fail(0)
        for _ in 0..<2 { try? world.store.catchUpNow() }
        (worlds[number], informed) = (try process(), informed.union([number]))
      case 8:
        records.fail(Int.random(in: 0...1, using: &random))
        while (try? await world.store.signOut()) == nil {}
        (signedOutAt, informed, requested) = (step, [number], [])
        worlds[number] = try process()
      case 9, 10: records.fail(Int.random(in: 1...4, using: &random))
      case 11: storage.loseAnswers(1)
      default: if (try? world.store.catchUpNow()) != nil { informed.insert(number) }
      }
      let bytes = records.entries.map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
      let old = (0..<max(signedOutAt, 0)).first { bytes.contains("t\($0)z") }
      try #require(old == nil, "of before \(signedOutAt) in \(log)")
    }
    records.fail(0)
    for _ in 0..<3 { for (world, _) in worlds { try? world.store.catchUpNow() } }
    let (fresh, _) = try process()
    for (world, id) in worlds.flatMap({ world in ["1", "2", "3"].map { (world.0, $0) } }) {
      let title = world.title(id)
      if let title, let step = Int(title.dropFirst().dropLast()) {
        #expect(step > signedOutAt, "\(title) of before \(signedOutAt) in \(log)")
      }
      #expect(title == fresh.title(id), "issue \(id) after \(log)")
      if !removes, requested.contains(id) { #expect(title != nil, "issue \(id) is lost after \(log)") }
    }
  }
}

extension NormalizedWorld {
  /// What is cached as the title of an issue.
  fileprivate func title(_ id: String) -> String? { store.peek(GetIssue(id))?.value?.issue?.title }
}
