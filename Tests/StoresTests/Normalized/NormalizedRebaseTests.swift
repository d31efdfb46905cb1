import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Closures of mutations, which are called again when what they were made of changes.
@Suite struct NormalizedRebaseTests {
  /// A store with a list of one issue, and what is shown of it.
  private func listWorld() throws -> (NormalizedWorld, Recorder<Snapshot<GetIssuesWithIDs.ResponseData>>) {
    let world = try NormalizedWorld()
    try world.store.receive(["issues": [["id": "1", "title": "a"]]], of: GetIssuesWithIDs())
    let list = Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly))
    _ = list.take()
    return (world, list)
  }

  /// Adds an issue to the list, optimistically under another id.
  private func add(_ id: String, to world: NormalizedWorld) -> Recorder<RenameIssue.ResponseData> {
    Recorder(
      world.store.mutate(
        RenameIssue(id, id), optimisticResponse: RenameIssue.ResponseData(rename: .init(id: id, title: id))
      ) { data, edits in
        try edits.update(GetIssuesWithIDs()) { list in
          guard let issue = data.rename, !list.issues.contains(where: { $0.id == issue.id }) else { return }
          list.issues.insert(.init(id: issue.id, title: issue.title), at: 0)
        }
      })
  }

  @Test func `of two mutations that add to a list, the first is answered, and nothing temporary is left`() throws {
    let (world, list) = try listWorld()
    let (first, second) = (add("t1", to: world), add("t2", to: world))
    #expect(list.brief() == ["t1:t1,1:a optimistic", "t2:t2,t1:t1,1:a optimistic"])
    world.server[0].data(renamed("a", "A"))
    #expect(list.brief() == ["t2:t2,a:A,1:a optimistic"])
    world.server[1].data(renamed("b", "B"))
    #expect(list.brief() == ["b:B,a:A,1:a memory"])
    #expect(world.server.count == 2)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `of two mutations that add to a list, the second is answered first, and both are in it`() throws {
    let (world, list) = try listWorld()
    let (first, second) = (add("t1", to: world), add("t2", to: world))
    _ = list.take()
    world.server[1].data(renamed("b", "B"))
    #expect(list.brief() == ["t1:t1,b:B,1:a optimistic"])
    world.server[0].data(renamed("a", "A"))
    #expect(list.brief() == ["a:A,b:B,1:a memory"])
    #expect(world.store.peek(GetIssuesWithIDs())?.isStale == false)
    #expect(world.server.count == 2)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `of two mutations that add to a list, the first fails, and only the second is left`() throws {
    let (world, list) = try listWorld()
    let (first, second) = (add("t1", to: world), add("t2", to: world))
    _ = list.take()
    world.server[0].fail()
    #expect(list.brief() == ["t2:t2,1:a optimistic"])
    world.server[1].data(renamed("b", "B"))
    #expect(list.brief() == ["b:B,1:a memory"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `closures are not called again where an answer is as expected`() throws {
    let (world, list) = try listWorld()
    let calls = Locked(0)
    let mutations = (2...20).map { id in
      Recorder(
        world.store.mutate(
          RenameIssue("\(id)", "x"), optimisticResponse: ["rename": ["id": .string("\(id)"), "title": "x"]]
        ) { data, edits in
          calls.withLock { $0 += 1 }
          try edits.update(GetIssuesWithIDs()) { list in
            guard let issue = data.rename, !list.issues.contains(where: { $0.id == issue.id }) else { return }
            list.issues.append(.init(id: issue.id, title: issue.title))
          }
        })
    }
    #expect(calls.withLock { $0 } == 19)
    for id in 2...20 { world.server[id - 2].data(renamed("\(id)", "x")) }
    #expect(calls.withLock { $0 } == 38)
    #expect(list.take().last?.value?.issues.map(\.id) == (1...20).map(String.init))
    // One that is not as expected: those above it are, each once.
    let (first, second) = (add("t1", to: world), add("t2", to: world))
    world.server[19].data(renamed("a", "A"))
    #expect(list.brief().last?.hasPrefix("t2:t2,a:A,1:a") == true)
    withExtendedLifetime((mutations, first, second)) {}
  }

  @Test func `a list that comes again during a mutation has what that adds`() throws {
    let (world, list) = try listWorld()
    let mutation = add("t1", to: world)
    _ = list.take()
    let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server[1].data(issues(("2", "b"), ("1", "a")))
    #expect(list.brief().last == "t1:t1,2:b,1:a optimistic")
    #expect(get.take().last?.value?.description == "t1:t1,2:b,1:a")
    world.server[0].data(renamed("a", "A"))
    #expect(list.take().last?.value?.description.hasSuffix("2:b,1:a") == true)
    withExtendedLifetime(mutation) {}
  }

  @Test func `a list that comes again with what a closure adds is no longer optimistic`() throws {
    let (world, _) = try listWorld()
    let list = Recorder(world.store.stream(OnlyIDs(), .cacheOnly))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("5", "x"), optimisticResponse: ["rename": ["id": "5", "title": "x"]]) { _, edits in
        try edits.update(GetIssuesWithIDs()) { list in
          if !list.issues.contains(where: { $0.id == "2" }) { list.issues.append(.init(id: "2", title: "b")) }
        }
      })
    #expect(list.take().last?.source == .optimistic)
    try world.store.receive(
      ["issues": [["id": "1", "title": "a"], ["id": "2", "title": "b"]]], of: GetIssuesWithIDs())
    let shown = list.take().last
    #expect(shown?.value?.issues.map(\.id) == ["1", "2"])
    #expect(shown?.source == .memory)
    withExtendedLifetime(mutation) {}
  }

  @Test func `an answer that comes below what a mutation has added is below it`() throws {
    let (world, list) = try listWorld()
    let slow = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    let mutation = add("t1", to: world)
    world.server[1].data(renamed("a", "A"))
    world.server[0].data(issues(("3", "c")))
    #expect(list.take().last?.value?.description == "a:A,3:c")
    #expect(world.store.missingPath(of: GetIssuesWithIDs()) == nil)
    withExtendedLifetime((slow, mutation)) {}
  }

  @Test func `a list that was not there is added to when it comes`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssuesWithIDs()))
    let mutation = add("t1", to: world)
    world.server[0].data(issues(("1", "a")))
    #expect(list.take().last?.value?.description == "t1:t1,1:a")
    withExtendedLifetime(mutation) {}
  }

  @Test func `an edit during a mutation is below what that adds`() throws {
    let (world, list) = try listWorld()
    let mutation = add("t1", to: world)
    try world.store.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
    #expect(list.take().last?.value?.description == "t1:t1,1:a,2:b")
    world.server[0].data(renamed("a", "A"))
    #expect(list.take().last?.brief == "a:A,1:a,2:b memory")
    withExtendedLifetime(mutation) {}
  }

  @Test func `any number of mutations that add to a list are on top of what changes below them`() async throws {
    let (world, list) = try listWorld()
    let mutations = (0..<120).map { add("t\($0)", to: world) }
    try world.store.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
    let shown = list.take().last?.value?.issues.map(\.id) ?? []
    #expect(shown.count == 122)
    #expect(shown.last == "2")
    // They would be made again for each that ends.
    try await world.store.clear()
    withExtendedLifetime(mutations) {}
  }

  @Test func `a closure is not called again for what it does not read`() throws {
    let (world, _) = try listWorld()
    let calls = Mutable(0)
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "x"), optimisticResponse: .init(rename: .init(id: "1", title: "x"))) {
        _, edits in
        calls.update { $0 += 1 }
        try edits.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
      })
    try world.store.receive(["issue": ["id": "9", "title": "z", "state": "OPEN"]], of: GetIssue("9"))
    #expect(calls.value == 1)
    withExtendedLifetime(mutation) {}
  }

  @Test(arguments: [false, true])
  func `a closure is not called again while it runs for the first time`(isOptimistic: Bool) throws {
    let (world, _) = try listWorld()
    try world.store.receive(["issue": ["id": "9", "title": "z", "state": "OPEN"]], of: GetIssue("9"))
    let slow = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    let optimistic: JSONValue? = isOptimistic ? ["rename": ["id": "5", "title": "x"]] : nil
    let mutation = Recorder(
      world.store.mutate(RenameIssue("5", "x"), optimisticResponse: optimistic) { [server = world.server] _, edits in
        try edits.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
        server[0].data(issues(("1", "a"), ("3", "c")))
        try edits.update(GetIssue("9")) { $0.issue?.title? += "!" }
      })
    if !isOptimistic { world.server.last.data(renamed("5", "x")) }
    #expect(world.store.peek(GetIssuesWithIDs())?.value?.description == "1:a,3:c,2:b")
    #expect(world.store.peek(GetIssue("9"))?.value?.issue?.title == "z!")
    withExtendedLifetime((slow, mutation)) {}
  }

  @Test func `a closure that changes the store itself ends`() throws {
    let (world, list) = try listWorld()
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "x"), optimisticResponse: .init(rename: .init(id: "1", title: "x"))) {
        [store = world.store] _, edits in
        try edits.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: "b")) }
        try store.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "3", title: "c")) }
      })
    #expect(list.take().isEmpty == false)
    withExtendedLifetime(mutation) {}
  }

  @Test func `what a closure writes is not kept if everything was removed since its mutation was sent`() async throws {
    let world = try NormalizedWorld()
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "x")) { _, edits in
        try edits.write(["issue": ["id": "1", "title": "old", "state": "OPEN"]], of: GetIssue("1"))
      })
    try await world.store.clear()
    world.server.last.data(renamed("1", "x"))
    #expect(mutation.isCompleted.value)
    #expect(world.store.peek(GetIssue("1")) == nil)
  }

  @Test func `a sign-out during a mutation leaves nothing to be made again`() async throws {
    let (world, _) = try listWorld()
    let (first, second) = (add("t1", to: world), add("t2", to: world))
    try await world.store.signOut()
    world.server[0].data(renamed("a", "A"))
    #expect(world.store.peek(GetIssuesWithIDs()) == nil)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `layers that are made again survive collections`() throws {
    let (world, list) = try listWorld()
    let (first, second) = (add("t1", to: world), add("t2", to: world))
    for number in 0..<20 {
      try world.store.receive(
        ["issues": [["id": .string("\(number)"), "title": .string("\(number)")]]], of: GetIssuesWithIDs())
      world.store.collect()
    }
    #expect(list.take().last?.value?.description == "t2:t2,t1:t1,19:19")
    world.server[1].data(renamed("b", "B"))
    world.store.collect()
    world.server[0].data(renamed("a", "A"))
    world.store.collect()
    #expect(list.take().last?.value?.description == "a:A,b:B,19:19")
    withExtendedLifetime((first, second)) {}
  }

  @Test func `a removal that fails leaves the list as it was, also after a collection`() throws {
    let world = try NormalizedWorld()
    try world.store.receive(
      ["issues": [["id": "1", "title": "a"], ["id": "2", "title": "b"]]], of: GetIssuesWithIDs())
    let list = Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "x"), optimisticResponse: ["rename": .null]) { _, edits in
        try edits.update(GetIssuesWithIDs()) { list in list.issues.removeAll { $0.id == "1" } }
      })
    #expect(list.brief() == ["1:a,2:b memory", "2:b optimistic"])
    world.store.collect()
    world.server[0].fail()
    #expect(list.brief() == ["1:a,2:b memory"])
    withExtendedLifetime(mutation) {}
  }

  @Test func `what a closure has read is there when it is called again after a collection`() throws {
    let (world, list) = try listWorld()
    try world.store.receive(["issue": ["id": "9", "title": "z", "state": "OPEN"]], of: GetIssue("9"))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("5", "x"), optimisticResponse: ["rename": ["id": "5", "title": "x"]]) { _, edits in
        var title: String?
        try edits.update(GetIssue("9")) { title = $0.issue?.title }
        guard let title else { return }
        try edits.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "2", title: title)) }
      })
    #expect(list.brief() == ["1:a,2:z optimistic"])
    world.store.collect()
    try world.store.receive(["issues": [["id": "3", "title": "c"]]], of: GetIssuesWithIDs())
    #expect(list.brief().last == "3:c,2:z optimistic")
    withExtendedLifetime(mutation) {}
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `mutations that add to a list, fail, and are answered in any order are each in it once`(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let (world, list) = try listWorld()
    var pending: [(id: String, request: Int, mutation: Recorder<RenameIssue.ResponseData>)] = []
    var (expected, base): (Set<String>, Set<String>) = ([], ["1"])
    for step in 0..<40 {
      switch Int.random(in: 0..<7, using: &random) {
      case 0, 1:
        let request = world.server.count
        pending.append(("t\(step)", request, add("t\(step)", to: world)))
      case 2, 3:
        guard let place = pending.indices.randomElement(using: &random) else { continue }
        let (id, request, mutation) = pending.remove(at: place)
        world.server[request].data(renamed("a\(id)", "A"))
        #expect(mutation.isCompleted.value)
        base.insert("a\(id)")
      case 4:
        try world.store.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: "e\(step)", title: "e")) }
        base.insert("e\(step)")
      default:
        guard let place = pending.indices.randomElement(using: &random) else { continue }
        world.server[pending.remove(at: place).request].fail()
      }
      expected = base.union(pending.map(\.id))
      let shown = world.store.peek(GetIssuesWithIDs())?.value?.issues.map(\.id) ?? []
      #expect(Set(shown) == expected, "seed \(seed), step \(step)")
      #expect(shown.count == expected.count, "seed \(seed), step \(step)")
    }
    #expect(list.take().isEmpty == false)
  }
}
