import Dispatch
import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import StoresTestSupport
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Subscriptions, contexts, and many threads.
@Suite struct NormalizedLiveTests {
  private struct IssueClosed: GraphQLSubscription {
    struct ResponseData: Codable, Hashable, Sendable {
      struct Issue: Codable, Hashable, Sendable { var state: String? }
      var closed: Issue?
    }
    static let query: GraphQLDocument = "subscription closed { closed { state } }"
  }

  /// What a subscription brings.
  private static let closing = ScriptedLiveStep.json(
    #"{"data": {"closed": {"__typename": "Issue", "id": "1", "state": "CLOSED"}}}"#)

  /// A store over a transport that responds with an open issue, and lets all subscriptions take some steps.
  private func store(_ transport: ScriptedTransport, _ steps: [ScriptedLiveStep]) throws -> NormalizedStore {
    transport.alwaysLive(.any, steps)
    transport.always(.any, .json("{\"data\": \(issue("1", "a"))}"))
    var client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    client.graphQL.live = transport
    return NormalizedStore(client, schema: try RecordSchema(NormalizedWorld.schema))
  }

  @Test func `the results of a subscription are written in before observers get them`() async throws {
    let transport = ScriptedTransport()
    let store = try store(transport, [.connected, Self.closing, .completed])
    let detail = Recorder(store.stream(GetIssue("1")))
    let events = Recorder(
      store.follow(IssueClosed()).map { event in
        (event.value?.closed?.state, store.peek(GetIssue("1"))?.value?.issue?.state)
      })
    try await events.waitForCompletion()
    #expect(events.take().map { $0.1 } == ["OPEN", "CLOSED"])
    #expect(detail.take().last?.brief == "1 a CLOSED memory")
    let body = try #require(transport.subscriptions.first?.body)
    #expect(String(decoding: body, as: UTF8.self).contains("closed { __typename id  state }"))
  }

  @Test(.timeLimit(.minutes(1)))
  func `E1: a watcher that stalls does not keep what a subscription brings next from others`() async throws {
    let (transport, gate, state) = (ScriptedTransport(), DispatchSemaphore(value: 0), Monitor(""))
    let next = ScriptedLiveStep.json(
      #"{"data": {"closed": {"__typename": "Issue", "id": "1", "state": "MERGED"}}}"#)
    let store = try store(transport, [.connected, Self.closing, next, .completed])
    let stalled = store.stream(GetIssue("1")).subscribe(onNext: { snapshot in
      if snapshot.value?.issue?.state == "CLOSED" { gate.wait() }
    })
    let other = store.stream(GetIssue("1")).subscribe(onNext: { snapshot in
      state.update { $0 = snapshot.value?.issue?.state ?? "" }
    })
    try await state.wait { $0 == "OPEN" }
    let events = Recorder(store.follow(IssueClosed()))
    try await state.wait { $0 == "MERGED" }
    try await events.waitForCompletion()
    gate.signal()
    for watcher in [stalled, other] { watcher.dispose() }
  }

  private struct CloseIssue: GraphQLSession {
    struct ResponseData: Codable, Hashable, Sendable { var close: IssueClosed.ResponseData.Issue? }
    static let query: GraphQLDocument = "mutation close { close(id: 1) { state } }"
  }

  @Test(arguments: [false, true])
  func `N4: what a subscription brings while a mutation waits puts the response to that in doubt`(isCleared: Bool)
    async throws
  {
    let store = try store(ScriptedTransport(), [.connected, Self.closing, .completed])
    _ = try await store.fresh(GetIssue("1")).value
    let (folder, isSending) = (TemporaryFolder(), Monitor(false))
    let responses = PublishSubject<NormalizedResponse<CloseIssue.ResponseData>>()
    let outbox = try Outbox<String, NormalizedResponse<CloseIssue.ResponseData>>(
      folder: folder.url, partition: "account", isIdempotent: { _ in true }
    ) { _, _ in
      .create { observer in
        defer { isSending.update { $0 = true } }
        return responses.asObservable().subscribe(observer)
      }
    }
    store.show(outbox) { _ in .of(CloseIssue()) }
    let submission = Recorder(outbox.submit("1"))
    try await isSending.wait { $0 }
    // It may be sent before it waits in the store, which notes what is touched then.
    try await eventually { store.records.withLock { $0.cache.touched != nil } }
    if isCleared {
      try await store.clear()
      _ = try await store.fresh(GetIssue("1")).value
    }
    try await Recorder(store.follow(IssueClosed())).waitForCompletion()
    let json = #"{"close": {"__typename": "Issue", "id": "1", "state": "OPEN"}}"#
    responses.onNext(
      NormalizedResponse(
        data: .init(close: .init(state: "OPEN")), json: PaddedBytes(json.utf8.span.bytes), errors: []))
    try await submission.waitForCompletion()
    #expect(store.peek(GetIssue("1"))?.brief == "1 a OPEN memory ~")
    await outbox.close()
  }

  @Test func `operations are out of date when a subscription for them may have missed something`() async throws {
    let store = try store(ScriptedTransport(), [.connected, .completed])
    _ = try await store.fresh(GetIssue("1")).value
    let others = Recorder(store.follow(IssueClosed()))
    try await others.waitForCompletion()
    #expect(store.peek(GetIssue("1"))?.isStale == false)
    let events = Recorder(store.follow(IssueClosed(), invalidating: [GetIssue("1")]))
    try await events.waitForCompletion()
    #expect(store.peek(GetIssue("1"))?.isStale == true)
    try await store.signOut()
    let ended = Recorder(store.follow(IssueClosed()))
    await #expect(throws: StoreError.signedOut) { try await ended.waitForCompletion() }
  }

  @Test func `a context says which client sends, and whose response may be shared`() throws {
    let other = QuietServer()
    let client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: other)
    let world = try NormalizedWorld {
      $0.clientForContext = { own, context in context.identity == nil ? own : client }
    }
    let first = Recorder(world.store.get(GetIssue("1")))
    let second = Recorder(world.store.get(GetIssue("1"), context: ReadContext(identity: "token")))
    #expect(world.server.count == 1)
    #expect(other.count == 1)
    other.last.data(issue("1", "a"))
    #expect(second.brief() == ["1 a OPEN network …"])
    world.server.last.data(issue("1", "b"))
    // It was asked for earlier: what came later, and was asked for later, stays.
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 a OPEN")
    withExtendedLifetime(first) {}
  }

  /// A watcher of an operation that stalls when it is shown a title.
  private func stalled(
    at title: String, by session: GetIssue, _ policy: FetchPolicy, in world: NormalizedWorld
  ) -> (watching: any Disposable, gate: DispatchSemaphore) {
    let gate = DispatchSemaphore(value: 0)
    let watching = world.store.stream(session, policy).subscribe(onNext: { snapshot in
      if snapshot.value?.issue?.title == title { gate.wait() }
    })
    return (watching, gate)
  }

  @Test(.timeLimit(.minutes(1))) func `a watcher that stalls keeps its response from no watcher of other operations`()
    async throws
  {
    let world = try NormalizedWorld()
    try world.store.receive(["issues": [["id": "1", "title": "a"]]], of: GetIssuesWithIDs())
    let list = Monitor("")
    let watching = world.store.stream(GetIssuesWithIDs(), .cacheOnly).subscribe(onNext: { snapshot in
      list.update { $0 = snapshot.brief }
    })
    let (stalled, gate) = stalled(at: "b", by: GetIssue("1"), .networkOnly, in: world)
    let request = world.server.last
    Thread.detachNewThread { request.data(issue("1", "b")) }
    try await list.wait { $0 == "1:b memory" }
    gate.signal()
    withExtendedLifetime((watching, stalled)) {}
  }

  @Test(.timeLimit(.minutes(1))) func `a watcher that stalls keeps no mutation from its answer`() async throws {
    let world = try NormalizedWorld()
    try world.store.receive(["issue": ["id": "1", "title": "a", "state": "OPEN"]], of: GetIssue("1"))
    let (stalled, gate) = stalled(at: "b", by: GetIssue("1"), .cacheOnly, in: world)
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "b")))
    let request = world.server.last
    Thread.detachNewThread { request.data(renamed("1", "b")) }
    try await mutation.waitForCompletion()
    gate.signal()
    withExtendedLifetime(stalled) {}
  }

  @Test(.timeLimit(.minutes(1))) func `what is there is found also while it changes`() async throws {
    let world = try NormalizedWorld()
    try world.store.receive(["issue": ["id": "1", "title": "-", "state": "-"]], of: GetIssue("1"))
    let isOver = Mutable(false)
    let (store, changing) = (world.store, Monitor(0))
    Thread.detachNewThread {
      while !isOver.value {
        changing.update { $0 += 1 }
        try? store.receive(
          ["issue": ["id": "1", "title": .string("\(changing.value)"), "state": "-"]], of: GetIssue("1"))
      }
      changing.update { $0 = -1 }
    }
    try await changing.wait { $0 > 0 }
    var misses = 0
    for _ in 0..<2_000 where store.peek(GetIssue("1")) == nil { misses += 1 }
    isOver.update { $0 = true }
    try await changing.wait { $0 == -1 }
    #expect(misses == 0)
  }

  @Test func `after changes on many threads, every watcher has seen the latest`() async throws {
    let world = try NormalizedWorld()
    for id in ["1", "2", "3"] {
      try world.store.receive(["issue": ["id": .string(id), "title": "-", "state": "-"]], of: GetIssue(id))
    }
    let watchers = ["1", "2", "3"].map { id in (id, Recorder(world.store.values(GetIssue(id)))) }
    let work: @Sendable (Int) -> Void = { thread in
      for step in 0..<100 {
        let id = "\((thread + step) % 3 + 1)"
        let title = "\(thread).\(step)"
        switch step % 4 {
        case 0: _ = try? world.store.update(GetIssue(id)) { $0.issue?.title = title }
        case 1:
          try? world.store.receive(
            ["issue": ["id": .string(id), "title": .string(title), "state": .string(title)]], of: GetIssue(id))
        case 2:
          Recorder(
            world.store.mutate(
              RenameIssue(id, title), optimisticResponse: .init(rename: .init(id: id, title: title)))
          ).dispose()
        default: _ = world.store.peek(GetIssue(id))
        }
        if step % 25 == 0 { world.store.collect() }
      }
    }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        DispatchQueue.concurrentPerform(iterations: 4, execute: work)
        continuation.resume()
      }
    }
    for (id, watcher) in watchers {
      let values = watcher.take().map(\.description)
      let json = try world.store.read(NormalizedKey(GetIssue(id), by: JSONCoder())).json
      let latest = try JSONCoder().decode(GetIssue.ResponseData.self, from: #require(json))
      #expect(values.last == latest.description)
      #expect(world.store.peek(GetIssue(id))?.value == latest)
      #expect(!zip(values, values.dropFirst()).contains { $0 == $1 })
    }
  }
}
