import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import Testing

@testable import Stores

/// Mutations: their responses, and what they show until then.
@Suite struct NormalizedMutationTests {
  /// A world in which a list and an issue are watched: `a,b` and `1 a OPEN`.
  private func world() throws -> (NormalizedWorld, Recorder<Snapshot<GetIssues.ResponseData>>) {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    _ = list.take()
    return (world, list)
  }

  @Test func `N1: the response of a mutation shows wherever its entity is shown`() throws {
    let (world, list) = try world()
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A")))
    #expect(world.server.last.document.contains("__typename"))
    world.server.last.data(renamed("1", "A"))
    #expect(list.brief() == ["A,b memory"])
    #expect(mutation.take().map(\.rename?.title) == ["A"])
    #expect(mutation.isCompleted.value)
  }

  @Test func `an optimistic response shows until the server's comes`() throws {
    let (world, list) = try world()
    let optimistic = RenameIssue.ResponseData(rename: .init(id: "1", title: "A?"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A"), optimisticResponse: optimistic))
    #expect(list.brief() == ["A?,b optimistic"])
    world.server.last.data(renamed("1", "A"))
    #expect(list.brief() == ["A,b memory"])
    withExtendedLifetime(mutation) {}
  }

  @Test func `an optimistic response that was right is confirmed`() throws {
    let (world, list) = try world()
    let optimistic = RenameIssue.ResponseData(rename: .init(id: "1", title: "A"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A"), optimisticResponse: optimistic))
    #expect(list.brief() == ["A,b optimistic"])
    world.server.last.data(renamed("1", "A"))
    #expect(list.brief() == ["A,b memory"])
    withExtendedLifetime(mutation) {}
  }

  @Test func `N5: a mutation that fails is rolled back`() throws {
    let (world, list) = try world()
    let optimistic = RenameIssue.ResponseData(rename: .init(id: "1", title: "A"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A"), optimisticResponse: optimistic))
    world.server.last.answer(#"{"errors": [{"message": "No."}]}"#)
    #expect(list.brief() == ["A,b optimistic", "a,b memory"])
    #expect(mutation.error.value != nil)
  }

  @Test func `disposing a mutation rolls it back`() throws {
    let (world, list) = try world()
    let optimistic = RenameIssue.ResponseData(rename: .init(id: "1", title: "A"))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A"), optimisticResponse: optimistic))
    mutation.dispose()
    #expect(list.brief() == ["A,b optimistic", "a,b memory"])
  }

  @Test(arguments: [false, true])
  func `N5: two mutations of one field end in any order`(isFirstFirst: Bool) throws {
    let (world, list) = try world()
    let first = Recorder(
      world.store.mutate(RenameIssue("1", "x"), optimisticResponse: .init(rename: .init(id: "1", title: "x"))))
    let second = Recorder(
      world.store.mutate(RenameIssue("1", "y"), optimisticResponse: .init(rename: .init(id: "1", title: "y"))))
    _ = list.take()
    let (early, late) = isFirstFirst ? (1, 2) : (2, 1)
    world.server[early].data(renamed("1", early == 1 ? "X" : "Y"))
    world.server[late].data(renamed("1", late == 1 ? "X" : "Y"))
    // What was sent last is what stays, in whichever order the responses come; if that is the other order, it is not
    // certain that the server has it, and it is requested again.
    #expect(list.take().last?.brief == (isFirstFirst ? "Y,b memory" : "Y,b memory ~ …"))
    withExtendedLifetime((first, second)) {}
  }

  @Test func `of two mutations, the first fails, and the second stays`() throws {
    let (world, list) = try world()
    let first = Recorder(
      world.store.mutate(RenameIssue("1", "x"), optimisticResponse: .init(rename: .init(id: "1", title: "x"))))
    let second = Recorder(
      world.store.mutate(RenameIssue("1", "y"), optimisticResponse: .init(rename: .init(id: "1", title: "y"))))
    _ = list.take()
    world.server[1].fail()
    #expect(list.take().isEmpty)
    world.server[2].fail()
    #expect(list.brief() == ["a,b memory"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `N4: a query that was sent before a mutation, and is answered after it, settles below it`() throws {
    let (world, list) = try world()
    let query = Recorder(world.store.get(GetIssue("1")))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A")))
    world.server[2].data(renamed("1", "A"))
    #expect(list.brief() == ["A,b memory"])
    // The server read it before the mutation.
    world.server[1].data(issue("1", "a", "CLOSED"))
    #expect(list.take().isEmpty)
    #expect(query.brief() == ["1 A CLOSED network"])
    #expect(world.store.records.withLock { $0.cache.layerNumbers }.isEmpty)
    withExtendedLifetime(mutation) {}
  }

  @Test func `a query that was sent after a mutation, and is answered before it, shows below its layer`() throws {
    let (world, list) = try world()
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "A"), optimisticResponse: .init(rename: .init(id: "1", title: "A"))))
    _ = list.take()
    let query = Recorder(world.store.get(GetIssue("2"), .networkOnly))
    world.server[2].data(issue("2", "B"))
    #expect(list.brief() == ["A,B optimistic"])
    world.server[1].fail()
    #expect(list.brief() == ["a,B memory"])
    #expect(world.store.records.withLock { $0.cache.layerNumbers }.isEmpty)
    withExtendedLifetime((mutation, query)) {}
  }

  @Test func `an updater adds an element to a list, for the optimistic response and for the server's`() throws {
    let (world, list) = try world()
    let optimistic = RenameIssue.ResponseData(rename: .init(id: "new", title: "n?"))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("new", "n"), optimisticResponse: optimistic) { data, edits in
        try edits.update(GetIssuesWithIDs()) { list in
          if let issue = data.rename { list.issues.insert(.init(id: issue.id, title: issue.title), at: 0) }
        }
      })
    #expect(list.brief() == ["n?,a,b optimistic"])
    world.server.last.data(renamed("7", "n"))
    #expect(list.brief() == ["n,a,b memory"])
    #expect(world.store.peek(GetIssuesWithIDs())?.value?.description == "7:n,1:a,2:b")
    withExtendedLifetime(mutation) {}
  }

  @Test func `what a closure throws before the mutation is sent means nothing for what is cached`() throws {
    let (world, list) = try world()
    _ = list.take()
    let refusal = RequestError(.httpStatus, "not the server's", status: 401)
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "A"), optimisticResponse: .init(rename: .init(id: "1", title: "A"))) { _, _ in
        throw refusal
      })
    #expect((mutation.error.value as? RequestError)?.status == 401)
    #expect(world.server.count == 1)
    #expect(list.brief() == [])
    #expect(world.store.peek(GetIssues())?.value?.description == "a,b")
  }

  @Test func `a mutation whose type the schema does not know says so, and is not sent`() throws {
    let (world, _) = try world()
    struct Unknown: GraphQLSession {
      struct ResponseData: Codable, Sendable {
        struct Thing: Codable, Sendable { let id: String }
        let unknown: Thing
      }
      static let query: GraphQLDocument = "mutation unknown { unknown { id } }"
    }
    let mutation = Recorder(
      world.store.mutate(Unknown(), optimisticResponse: .init(unknown: .init(id: "1"))))
    #expect((mutation.error.value as? RequestError)?.kind == .invalidRequest)
    #expect(world.server.count == 1)
  }

  @Test func `a failure takes away a value that only the optimistic response had made whole`() async throws {
    let world = try NormalizedWorld()
    try await world.request(OnlyIDs(), #"{"issues": [{"__typename": "Issue", "id": "1"}]}"#)
    let cached = Recorder(world.store.stream(GetIssues(), .cacheOnly))
    let stream = Recorder(world.store.stream(GetIssues()))
    let rename = Recorder(
      world.store.mutate(RenameIssue("1", "b"), optimisticResponse: .init(rename: .init(id: "1", title: "b"))))
    #expect(cached.take().last?.brief == "b optimistic …")
    world.server[2].fail()
    try await rename.waitForEnd()
    #expect(cached.brief() == ["- …"])
    #expect(world.store.peek(GetIssues()) == nil)
    world.server[1].data(issues(("1", "a")))
    #expect(stream.take().last?.brief == "a network")
    #expect(world.server.count == 3)
  }
}
