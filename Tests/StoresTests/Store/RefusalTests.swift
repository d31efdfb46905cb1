import BFFOperations
import GraphQLClient
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@Suite("a store after a refusal")
struct RefusalTests {
  let server = FakeServer<String, Int>()
  let truth = MemoryTruth<String, Int>()

  func store(_ change: (inout StoreConfiguration<Int>) -> Void = { _ in }) -> Store<String, Int> {
    var configuration = StoreConfiguration<Int>()
    change(&configuration)
    return Store(.ofPartial(server.fetch), storage: .source(truth), configuration: configuration)
  }

  /// Reads a key from the network, which fails.
  private func fail(_ key: String, of store: Store<String, Int>, _ error: RequestError) {
    let read = Recorder(store.get(key, .networkOnly))
    server.requests.value.last?.fail(error)
    #expect((read.error.value as? RequestError)?.kind == error.kind)
  }

  @Test(arguments: [
    RequestError(.httpStatus, "", status: 401),
    RequestError(
      .graphQL, "", cause: GraphQLErrors([GraphQLError(message: "", extensions: ["code": "UNAUTHENTICATED"])])),
  ])
  func `S1: values are hidden while the user has to sign in again, and kept for then`(refusal: RequestError) {
    let store = store()
    store.save(1, for: "a")
    store.save(2, for: "b")
    let watcher = Recorder(store.stream("b", .cacheOnly))
    fail("a", of: store, refusal)
    #expect(watcher.brief() == ["2 memory", "-"])
    for key in ["a", "b"] {
      #expect(store.peek(key) == nil)
      #expect(Recorder(store.get(key, .cacheOnly)).error.value != nil)
    }
    let read = Recorder(store.get("b", .cacheFirst))
    #expect(server.count == 2)
    #expect(read.take().isEmpty)
    server[1].answer(3)
    #expect(read.brief() == ["3 network"])
    #expect(watcher.brief() == ["- …", "3 network"])
    #expect(store.peek("a")?.value == 1)
  }

  @Test func `S1: values of the source of truth are hidden, too, and those that are written later are not`() {
    let store = store { $0.memoryCount = 1 }
    store.save(1, for: "a")
    store.save(2, for: "b")
    fail("c", of: store, RequestError(.httpStatus, "", status: 401))
    #expect(Recorder(store.get("a", .cacheOnly)).error.value != nil)
    store.save(3, for: "b")
    #expect(Recorder(store.get("b", .cacheOnly)).brief() == ["3 memory"])
    #expect(Recorder(store.get("a", .cacheOnly)).error.value != nil)
  }

  @Test func `S1: a response to a request from before the refusal shows nothing again but itself`() {
    let store = store()
    store.save(1, for: "a")
    let earlier = Recorder(store.get("b", .networkOnly))
    fail("a", of: store, RequestError(.httpStatus, "", status: 401))
    server[0].answer(2)
    #expect(earlier.brief() == ["2 network"])
    #expect(store.peek("b")?.value == 2)
    #expect(store.peek("a") == nil)
    #expect(Recorder(store.mutate(.of("c") { _ in nil }, send: { .just(3) })).take() == [3])
    #expect(store.peek("a")?.value == 1)
  }

  @Test func `a local change of a hidden value is kept, and not shown`() {
    let store = store()
    store.save(1, for: "a")
    fail("a", of: store, RequestError(.httpStatus, "", status: 401))
    store.update("a") { $0 += 10 }
    #expect(store.peek("a") == nil)
    let read = Recorder(store.get("b", .networkOnly))
    server[1].answer(2)
    #expect(read.isCompleted.value)
    #expect(store.peek("a")?.value == 11)
  }

  @Test(arguments: [
    RequestError(.httpStatus, "", status: 403),
    RequestError(.graphQL, "", cause: GraphQLErrors([GraphQLError(message: "", extensions: ["code": "FORBIDDEN"])])),
  ])
  func `S1: a value that the user may no longer see is removed`(refusal: RequestError) {
    let store = store()
    store.save(1, for: "a")
    store.save(2, for: "b")
    let watcher = Recorder(store.stream("a", .cacheOnly))
    fail("a", of: store, refusal)
    #expect(watcher.take().last?.value == nil)
    #expect(truth.keys() == ["b"])
    #expect(store.peek("b")?.value == 2)
  }

  @Test func `the effect of a failure is configured, and an outage has none`() {
    let gone = RequestError(.httpStatus, "", status: 410)
    let removing = store { $0.effectOfFailure = { $0.status == 410 ? .removeAll : .standard(for: $0) } }
    removing.save(1, for: "a")
    removing.save(2, for: "b")
    fail("c", of: removing, RequestError(.httpStatus, "", status: 503))
    #expect(removing.peek("a")?.value == 1)
    fail("c", of: removing, gone)
    #expect(truth.keys() == [])
    #expect(removing.peek("a") == nil)
    #expect(removing.peek("b") == nil)

    let keeping = store { $0.effectOfFailure = { _ in .keep } }
    keeping.save(1, for: "a")
    fail("a", of: keeping, RequestError(.httpStatus, "", status: 401))
    #expect(keeping.peek("a")?.value == 1)
    let serving = store { $0.mayServeStale = { _ in true } }
    serving.save(1, for: "a")
    let read = Recorder(serving.get("a", .networkFirst))
    server.requests.value.last?.fail(RequestError(.httpStatus, "", status: 401))
    #expect(read.brief() == ["1 memory !"])
  }

  @Test(arguments: ["http", "graphql"])
  func `S1: a revoked token ends in its error through every policy, and shows nothing`(mode: String) async throws {
    let server = try await BFFServer.shared()
    let token = Mutable("valid-token")
    let scheduler = TestScheduler()
    var configuration = StoreConfiguration<Int>()
    configuration.clock = .scheduler(scheduler)
    configuration.freshness.staleTime = .seconds(60)
    var client = try APIClient(baseURL: server.graphqlURL, middlewares: .standard())
    try client.defaultHeaders.set("X-Auth-Mode", to: mode)
    let store = Store<String, Int>(
      .ofStream { [client] _ in
        Observable.deferred {
          var client = client
          try client.defaultHeaders.set("Authorization", to: "Bearer \(token.value)")
          return Ping().data(on: client).map { $0.getMomentsDetailsByUserID.moments.count }
        }
      }, configuration: configuration)
    for id in ["0", "1"] { _ = try await store.cached(id).value }
    token.update { $0 = "expired-token" }
    // Fresh, and so nobody has asked the server yet.
    #expect(try await store.get("0", .cacheFirst).value.source == .memory)
    scheduler.advance(by: .seconds(60))
    for (id, policy) in [("0", FetchPolicy.cacheFirst), ("0", .networkFirst), ("1", .cacheFirst), ("0", .networkOnly)] {
      let error = await #expect(throws: RequestError.self) { try await store.get(id, policy).value }
      #expect(error?.isUnauthenticated == true, "\(id) \(policy): \(String(describing: error))")
    }
    #expect(store.peek("1") == nil)
    await #expect(throws: StoreError.notCached) { try await store.get("1", .cacheOnly).value }
    token.update { $0 = "valid-token" }
    _ = try await store.fresh("0").value
    #expect(store.peek("1")?.isStale == true)
  }

  @Test func `S1: a refusal is kept for the next process, also after everything was removed since the one before`()
    async throws
  {
    let folder = TemporaryFolder()
    let store = Store(.ofPartial(server.fetch), storage: .source(try DiskCache<String, Int>(folder: folder.url)))
    for round in 0..<2 {
      await store.save(1, for: "a")
      async let read = store.get("b", .networkOnly).value
      try await server.wait(forCount: round + 1)
      server[round].fail(RequestError(.httpStatus, "", status: 401))
      _ = try? await read
      #expect(store.peek("a") == nil)
      if round == 0 { try await store.clear() }
    }
    #expect(try DiskCache<String, Int>(folder: folder.url).isRefused)
  }
}
