import Foundation
import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Changes that overlap: with requests that began earlier, and with optimistic ones.
@Suite struct NormalizedOrderTests {
  /// A store with a list of one issue.
  private func listWorld() throws -> (NormalizedWorld, Recorder<Snapshot<GetIssuesWithIDs.ResponseData>>) {
    let world = try NormalizedWorld()
    let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server[0].data(issues(("1", "a")))
    withExtendedLifetime(get) {}
    return (world, Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly)))
  }

  /// Adds an issue to the list, optimistically under another id.
  private func add(_ id: String, to world: NormalizedWorld) -> Recorder<RenameIssue.ResponseData> {
    Recorder(
      world.store.mutate(
        RenameIssue(id, id), optimisticResponse: RenameIssue.ResponseData(rename: .init(id: id, title: id))
      ) { data, edits in
        try edits.update(GetIssuesWithIDs()) { list in
          if let issue = data.rename { list.issues.insert(.init(id: issue.id, title: issue.title), at: 0) }
        }
      })
  }

  @Test func `an entity is invalidated also while an older request is in progress`() throws {
    let world = try NormalizedWorld()
    let slow = Recorder(world.store.get(GetIssue("9"), .networkOnly))
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[1].data(issue("1", "a"))
    world.store.invalidate(EntityID("Issue", id: "1"))
    #expect(world.store.missingPath(of: GetIssue("1")) != nil)
    try #require(world.server.count == 3)
    withExtendedLifetime((slow, one)) {}
  }

  @Test func `N6: a response that was requested before an entity was invalidated is out of date`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let older = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.store.invalidate(EntityID("Issue", id: "1"))
    world.server[1].data(issue("1", "a"))
    try #require(world.server.count == 3)
    #expect(world.store.peek(GetIssue("1"))?.isStale == true)
    world.server[2].data(issue("1", "b"))
    #expect(one.take().last?.brief == "1 b OPEN network")
    withExtendedLifetime(older) {}
  }

  @Test(arguments: [nil, "title"])
  func `N6: a first response that was requested before its entity was invalidated is out of date`(field: String?) throws
  {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.store.invalidate(EntityID("Issue", id: "1"), field: field)
    try world.store.receive(["rename": ["id": "2", "title": "z"]], of: RenameIssue("2", "z"))
    world.server[0].data(issue("1", "a"))
    try #require(world.server.count == 2)
    #expect(world.store.peek(GetIssue("1"))?.isStale == true)
    world.server[1].data(issue("1", "b"))
    #expect(one.take().last?.brief == "1 b OPEN network")
    #expect(world.store.records.withLock { $0.cache.layerNumbers.isEmpty })
  }

  @Test func `what was pushed after an entity was invalidated stays above a response to an older request`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.store.invalidate(EntityID("Issue", id: "1"), field: "title")
    try world.store.receive(["rename": ["id": "1", "title": "b"]], of: RenameIssue("1", "b"))
    world.server[0].data(issue("1", "a"))
    #expect(world.server.count == 1)
    #expect(one.take().last?.brief == "1 b OPEN network")
  }

  @Test func `a response of which a later one has something else is out of date, and requested again`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssuesWithIDs()))
    world.server[0].data(issues(("1", "a")))
    let older = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    let newer = Recorder(world.store.get(OnlyIDs(), .networkOnly))
    world.server[2].data(String(decoding: try ids("1", "2").json(), as: UTF8.self))
    world.server[1].data(issues(("1", "a2")))
    let last = try #require(list.take().last)
    #expect(last.isStale)
    try #require(world.server.count == 4)
    withExtendedLifetime((older, newer)) {}
  }

  @Test func `an edit does not keep what another mutation shows, and that fails`() throws {
    let (world, list) = try listWorld()
    let mutation = add("temporary", to: world)
    try world.store.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
    world.server[1].fail()
    #expect(list.take().last?.brief == "1:a,2:b memory")
    #expect(world.store.missingPath(of: GetIssuesWithIDs()) == nil)
    withExtendedLifetime(mutation) {}
  }

  @Test(arguments: [false, true])
  func `of two mutations that add to a list, the first fails, and the second is right`(isFirstFirst: Bool) throws {
    let (world, list) = try listWorld()
    let first = add("temporary A", to: world)
    let second = add("temporary B", to: world)
    if isFirstFirst { world.server[1].fail() }
    world.server[2].data(renamed("b", "B"))
    if !isFirstFirst { world.server[1].fail() }
    #expect(list.take().last?.brief == "b:B,1:a memory")
    #expect(world.store.missingPath(of: GetIssuesWithIDs()) == nil)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `two mutations that add to a list, and are answered in order, are both in it`() throws {
    let (world, list) = try listWorld()
    let (first, second) = (add("temporary A", to: world), add("temporary B", to: world))
    world.server[1].data(renamed("a", "A"))
    world.server[2].data(renamed("b", "B"))
    #expect(list.take().last?.brief == "b:B,a:A,1:a memory")
    withExtendedLifetime((first, second)) {}
  }

  @Test func `an embedded object keeps nothing of an optimistic one`() throws {
    struct First: GraphQLSession {
      struct ResponseData: Codable, Hashable, Sendable {
        struct Settings: Codable, Hashable, Sendable { var a: String? }
        var settings: Settings
      }
      static let query: GraphQLDocument = "query first { settings { a } }"
    }
    struct Second: GraphQLSession {
      struct ResponseData: Codable, Hashable, Sendable {
        struct Settings: Codable, Hashable, Sendable { var b: String? }
        var settings: Settings
      }
      static let query: GraphQLDocument = "query second { settings { b } }"
    }
    let world = try NormalizedWorld()
    let slow = Recorder(world.store.get(GetIssue("9"), .networkOnly))
    try world.store.receive(["settings": ["__typename": "Settings", "a": "1"]], of: First())
    try world.store.receive(["settings": ["__typename": "Settings", "b": "1"]], of: Second())
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "x"), optimisticResponse: ["rename": ["id": "1", "title": "x"]]) { _, edits in
        try edits.write(["settings": ["__typename": "Settings", "a": "optimistic"]], of: First())
      })
    #expect(world.store.peek(First())?.value?.settings.a == "optimistic")
    try world.store.receive(["settings": ["__typename": "Settings", "b": "2"]], of: Second())
    world.server.last.fail()
    #expect(world.store.peek(First())?.value?.settings.a == "1")
    #expect(world.store.peek(Second())?.value?.settings.b == "2")
    withExtendedLifetime((mutation, slow)) {}
  }

  @Test func `a query that is answered before a mutation that was sent first leaves the optimistic value`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "A"), optimisticResponse: .init(rename: .init(id: "1", title: "A"))))
    let query = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server[2].data(issue("1", "a"))
    #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == "A")
    // The server may have answered the query before it made the change.
    world.server[1].data(renamed("1", "A"))
    #expect(world.store.peek(GetIssue("1"))?.isStale == true)
    try #require(world.server.count == 4)
    world.server[3].data(issue("1", "A"))
    #expect(one.take().last?.brief == "1 A OPEN network")
    withExtendedLifetime((mutation, query)) {}
  }

  @Test func `N4: a mutation that is answered before one that was sent first may have been made first`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let mutations = ["b", "c"].map { Recorder(world.store.mutate(RenameIssue("1", $0))) }
    world.server[2].data(renamed("1", "c"))
    #expect(one.take().last?.brief == "1 c OPEN memory")
    #expect(world.server.count == 3)
    // The server may have made this change later.
    world.server[1].data(renamed("1", "b"))
    #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == "c")
    try #require(world.server.count == 4)
    world.server[3].data(issue("1", "b"))
    #expect(one.take().last?.brief == "1 b OPEN network")
    withExtendedLifetime(mutations) {}
  }

  @Test func `mutations that are answered in the other order with the same are not requested again`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let mutations = ["b", "b"].map { Recorder(world.store.mutate(RenameIssue("1", $0))) }
    world.server[2].data(renamed("1", "b"))
    world.server[1].data(renamed("1", "b"))
    #expect(one.take().last?.brief == "1 b OPEN memory")
    #expect(world.server.count == 3)
    withExtendedLifetime(mutations) {}
  }

  @Test func `what is received during a mutation may be older than its change`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "b")))
    try world.store.receive(["rename": ["id": "1", "title": "c"]], of: RenameIssue("1", "c"))
    #expect(one.take().last?.brief == "1 c OPEN memory")
    world.server[1].data(renamed("1", "b"))
    try #require(world.server.count == 3)
    world.server[2].data(issue("1", "b"))
    #expect(one.take().last?.brief == "1 b OPEN network")
    withExtendedLifetime(mutation) {}
  }

  @Test(arguments: [false, true])
  func `an edit that is made during a mutation is newer than its change`(isPushBetween: Bool) throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "b")))
    try world.store.update(GetIssue("1")) { $0.issue?.title = "c" }
    if isPushBetween {
      try world.store.receive(["rename": ["id": "2", "title": "z"]], of: RenameIssue("2", "z"))
    }
    world.server[1].data(renamed("1", "b"))
    #expect(world.server.count == 2)
    #expect(one.take().last?.brief == "1 c OPEN memory")
    withExtendedLifetime(mutation) {}
  }

  @Test(arguments: [false, true])
  func `edits and pushes by turns during a long mutation become one layer, and stay what they are`(
    isPushLast: Bool
  ) throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "b")))
    for isPush in [isPushLast, !isPushLast, isPushLast] {
      if isPush {
        try world.store.receive(["rename": ["id": "1", "title": "push"]], of: RenameIssue("1", "push"))
      } else {
        try world.store.update(GetIssue("1")) { $0.issue?.title = "edit" }
      }
      try world.store.update(GetIssue("1")) { $0.issue?.state = "OPEN \(isPush)" }
    }
    #expect(world.store.records.withLock { $0.cache.layerNumbers.count } == 1)
    world.server[1].data(renamed("1", "b"))
    #expect(one.take().last?.value?.issue?.title == (isPushLast ? "push" : "edit"))
    // The server may have made the change after it has pushed.
    #expect(world.server.count == (isPushLast ? 3 : 2))
    #expect(world.store.records.withLock { $0.cache.layerNumbers.isEmpty })
    withExtendedLifetime(mutation) {}
  }

  @Test func `an update of what another has changed meanwhile is made again`() throws {
    let (world, list) = try listWorld()
    var calls = 0
    try world.store.update(GetIssuesWithIDs()) { value in
      calls += 1
      // As another thread may, between the read and the write.
      if calls == 1 {
        try world.store.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
      }
      value.issues.append(.init(id: "3", title: "c"))
    }
    #expect(calls == 2)
    #expect(list.take().last?.brief == "1:a,2:b,3:c memory")
  }

  @Test func `edits that are kept beyond their closure do nothing`() throws {
    let (world, list) = try listWorld()
    _ = list.take()
    var kept: NormalizedEdits?
    world.store.update { kept = $0 }
    kept?.invalidate(EntityID("Issue", id: "1"))
    try kept?.write(ids("2"), of: OnlyIDs())
    #expect(world.store.peek(GetIssuesWithIDs())?.value?.description == "1:a")
    #expect(world.store.missingPath(of: GetIssuesWithIDs()) == nil)
  }

  @Test func `a response that says what an edit has just made of a value is not answered by the value before`() throws {
    let world = try NormalizedWorld()
    let stream = Recorder(world.store.stream(GetIssue("1")))
    world.server.last.data(issue("1", "a"))
    try world.store.update { edits in
      try edits.update(GetIssue("1")) { $0.issue?.title = "b" }
      let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
      world.server.last.data(issue("1", "b"))
      #expect(get.brief() == ["1 b OPEN network"])
    }
    #expect(stream.take().last?.value?.description == "1 b OPEN")
  }
}

/// What happens while a value is decoded, without a lock. One after the other, since a decoder has no context.
@Suite(.serialized) struct NormalizedDecodingTests {
  private static let hook = Locked<(@Sendable () -> Void)?>(nil)

  /// Calls the hook once when it is decoded.
  private struct Hooked: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      struct Issue: Decodable, Sendable { let title: String? }
      let issues: [Issue]
      private enum CodingKeys: CodingKey { case issues }

      init(from decoder: any Decoder) throws {
        issues = try decoder.container(keyedBy: CodingKeys.self).decode([Issue].self, forKey: .issues)
        NormalizedDecodingTests.hook.withLock { exchange(&$0, with: nil) }?()
      }
    }
    static let query: GraphQLDocument = "query hooked { issues(first: 2) { title } }"
  }

  private func during(_ body: @escaping @Sendable () -> Void) { Self.hook.withLock { $0 = body } }

  @Test func `what was removed while it was decoded is not shown`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(Hooked()))
    world.server[0].data(issues(("1", "secret")))
    _ = list.take()
    let store = world.store
    during {
      // What `clear()` does before it waits.
      store.records.withLock { $0.removeAll(now: store.store.clock.now) }
      store.store.perform { $0.removeAll(then: { _ in }) }
    }
    try store.receive(["rename": ["id": "1", "title": "another"]], of: RenameIssue("1", "x"))
    #expect(list.take().last.map { $0.value == nil } == true)
    #expect(store.peek(Hooked()) == nil)
  }

  @Test func `what was made missing while it was decoded is not shown as fresh`() throws {
    let world = try NormalizedWorld()
    let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server[0].data(issues(("1", "a")))
    withExtendedLifetime(get) {}
    let store = world.store
    during { store.invalidate(EntityID("Issue", id: "1")) }
    let list = Recorder(store.stream(Hooked()))
    #expect(store.missingPath(of: Hooked()) != nil)
    try #require(world.server.count == 2)
    world.server[1].data(issues(("1", "b")))
    #expect(list.take().last?.value?.issues.first?.title == "b")
  }

  @Test func `a response that was made missing while it was decoded is requested again`() throws {
    let world = try NormalizedWorld()
    let store = world.store
    let list = Recorder(store.stream(Hooked()))
    during { store.invalidate(EntityID("Issue", id: "1")) }
    world.server[0].data(issues(("1", "a")))
    try #require(world.server.count == 2)
    world.server[1].data(issues(("1", "b")))
    #expect(list.take().last?.value?.issues.first?.title == "b")
  }

  @Test func `who joins a request without a cache while its response is decoded sees later changes`() throws {
    let world = try NormalizedWorld()
    let store = world.store
    let get = Recorder(store.get(Hooked(), .noCache))
    let joined = Locked<Recorder<Snapshot<Hooked.ResponseData>>?>(nil)
    during { joined.withLock { $0 = Recorder(store.stream(Hooked(), .networkOnly)) } }
    world.server[0].data(issues(("1", "a")))
    let watcher = try #require(joined.withLock { $0 })
    #expect(watcher.take().last?.value?.issues.first?.title == "a")
    try store.receive(["rename": ["id": "1", "title": "b"]], of: RenameIssue("1", "x"))
    #expect(watcher.take().last?.value?.issues.first?.title == "b")
    try #require(world.server.count == 1)
    withExtendedLifetime(get) {}
  }

  @Test func `a change is shown, also if who decodes a response has read it before its step`() async throws {
    let world = try NormalizedWorld()
    let store = world.store
    let list = Recorder(store.stream(Hooked()))
    world.server[0].data(issues(("1", "a")))
    let get = Recorder(store.get(Hooked(), .networkOnly))
    let (hasChanged, goOn, isShown) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), Monitor(false))
    during {
      try? store.receive(["rename": ["id": "1", "title": "c"]], of: RenameIssue("1", "c"))
      Thread.detachNewThread {
        try? store.update { edits in
          try edits.write(["rename": ["id": "1", "title": "d"]], of: RenameIssue("1", "d"))
          hasChanged.signal()
          goOn.wait()
        }
        isShown.update { $0 = true }
      }
      hasChanged.wait()
    }
    world.server[1].data(issues(("1", "b")))
    goOn.signal()
    try await isShown.wait { $0 }
    #expect(list.take().last?.value?.issues.first?.title == "d")
    withExtendedLifetime(get) {}
  }
}
