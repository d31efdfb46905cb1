import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("reading by policies")
struct PolicyTests {
  let server = FakeServer<String, Int>()
  let scheduler = TestScheduler()

  func store(_ freshness: Freshness = Freshness()) -> Store<String, Int> {
    var configuration = StoreConfiguration<Int>()
    configuration.freshness = freshness
    configuration.mayServeStale = { _ in true }
    configuration.clock = .scheduler(scheduler)
    return Store(.ofPartial(server.fetch), configuration: configuration)
  }

  @Test func `cacheFirst uses the network only where nothing is cached`() {
    let store = store()
    let first = Recorder(store.stream("a", .cacheFirst))
    #expect(first.brief() == ["- …"])
    server[0].answer(1)
    #expect(first.brief() == ["1 network"])
    #expect(Recorder(store.stream("a", .cacheFirst)).brief() == ["1 memory"])
    #expect(Recorder(store.get("a", .cacheFirst)).brief() == ["1 memory"])
    #expect(server.count == 1)
  }

  @Test func `cacheAndNetwork shows the cached value, then the network's response`() {
    let store = store()
    store.save(1, for: "a")
    let stream = Recorder(store.stream("a", .cacheAndNetwork))
    #expect(stream.brief() == ["1 memory …"])
    server[0].answer(2)
    #expect(stream.brief() == ["2 network"])
  }

  @Test func `networkOnly shows nothing before the response, and only the failure after a failure`() {
    let store = store()
    store.save(1, for: "a")
    let stream = Recorder(store.stream("a", .networkOnly))
    #expect(stream.brief() == ["- …"])
    server[0].fail()
    #expect(stream.brief() == ["- !"])
    let get = Recorder(store.get("a", .networkOnly))
    server[1].fail()
    #expect(get.error.value as? Failure == Failure())
    #expect(get.elements.value.isEmpty)
  }

  @Test func `networkFirst shows what is kept where the network fails, with the failure`() {
    let store = store()
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(5))
    let stream = Recorder(store.stream("a", .networkFirst))
    let get = Recorder(store.get("a", .networkFirst))
    #expect(stream.brief() == ["- …"])
    server[0].fail()
    #expect(stream.brief() == ["1 memory !"])
    let answer = get.take()
    #expect(answer.map(\.brief) == ["1 memory !"])
    #expect(answer.first?.age == .seconds(5))
    #expect(get.isCompleted.value)
  }

  @Test func `cacheOnly sends no request`() {
    let store = store()
    let stream = Recorder(store.stream("a", .cacheOnly))
    let get = Recorder(store.get("a", .cacheOnly))
    #expect(stream.brief() == ["-"])
    #expect(get.error.value as? StoreError == .notCached)
    store.save(1, for: "a")
    #expect(stream.brief() == ["1 memory"])
    #expect(server.count == 0)
  }

  @Test func `noCache keeps nothing`() {
    let store = store()
    let stream = Recorder(store.stream("a", .noCache))
    server[0].answer(1)
    #expect(stream.brief() == ["- …", "1 network"])
    #expect(Recorder(store.get("a", .cacheOnly)).error.value as? StoreError == .notCached)
  }

  @Test func `a change lies over an uncached response, too`() {
    let store = store()
    let stream = Recorder(store.stream("a", .noCache))
    server[0].answer(1)
    _ = stream.take()
    let change = Recorder(store.mutate(.ofAll(keyForResponse: { _ in "a" }) { $1 + 10 }, send: { .never() }))
    #expect(stream.brief() == ["11 optimistic"])
    let get = Recorder(store.get("a", .noCache))
    server[1].answer(2)
    #expect(get.brief() == ["12 optimistic"])
    // The answer is for who has asked for it.
    #expect(stream.brief() == ["11 optimistic …", "11 optimistic"])
    change.dispose()
    #expect(stream.brief() == ["1 network"])
  }

  @Test func `a part of a value is one under a change, too`() {
    let store = store()
    let change = Recorder(store.mutate(.ofAll(keyForResponse: { _ in "a" }) { $1 + 10 }, send: { .never() }))
    for policy in [FetchPolicy.networkOnly, .noCache] {
      let get = Recorder(store.get("a", policy))
      server.requests.value.last?.answer(1, errors: [Failure()])
      let snapshot = get.take().first
      #expect(snapshot?.value == 11)
      #expect(snapshot?.source == .optimistic)
      #expect(snapshot?.isPartial == true)
      #expect(snapshot?.map { "\($0)" }.isPartial == true)
    }
    let whole = Recorder(store.get("a", .networkOnly))
    server.requests.value.last?.answer(1)
    #expect(whole.take().first?.isPartial == false)
    change.dispose()
  }

  @Test(arguments: [FetchPolicy.cacheOnly, .cacheFirst, .noCache])
  func `an uncached response is shown only to the readers that requested it`(policy: FetchPolicy) {
    let store = store()
    store.save(0, for: "a")
    let stream = Recorder(store.stream("a", policy))
    if policy == .noCache { server[0].answer(1) }
    store.remove("a")
    _ = stream.take()
    let get = Recorder(store.get("a", .noCache))
    server.requests.value.last?.answer(2)
    #expect(get.brief() == ["2 network"])
    #expect(stream.take().allSatisfy { $0.value == nil })
  }

  @Test func `an uncached response stays in view during the next request`() async throws {
    let store = store()
    let stream = Recorder(store.stream("a", .noCache))
    server[0].answer(1)
    let get = Recorder(store.get("a", .noCache))
    server[1].answer(2)
    #expect(stream.brief() == ["- …", "1 network", "1 network …", "1 network"])
    #expect(get.brief() == ["2 network"])
    try await store.signOut()
    #expect(stream.brief() == ["-"])
  }

  @Test func `values are those that are kept, once for each write`() {
    let store = store()
    let values = Recorder(store.values("a"))
    let passing = Recorder(store.get("a", .noCache))
    server[0].answer(0)
    let kept = Recorder(store.get("a", .networkOnly))
    server[1].answer(1)
    store.save(1, for: "a")
    #expect(values.take() == [1, 1])
    #expect(passing.isCompleted.value)
    #expect(kept.isCompleted.value)
    #expect(server.count == 2)
  }

  @Test func `a failure is a value in a stream, which lives on`() {
    let store = store()
    let stream = Recorder(store.stream("a", .cacheFirst))
    server[0].fail()
    store.save(1, for: "a")
    #expect(stream.brief() == ["- …", "- !", "1 memory"])
    #expect(stream.error.value == nil)
    #expect(!stream.isCompleted.value)
  }

  @Test func `a request without a response is a failure`() {
    let store = store()
    let get = Recorder(store.get("a", .networkOnly))
    server[0].observer.onCompleted()
    #expect(get.error.value as? StoreError == .noResponse)
  }

  @Test func `the short forms give values`() async throws {
    let store = store()
    let fresh = Recorder(store.fresh("a"))
    server[0].answer(1)
    #expect(fresh.take() == [1])
    #expect(fresh.isCompleted.value)
    #expect(Recorder(store.cached("a")).take() == [1])
    try await store.clear()
    #expect(store.peek("a") == nil)
  }

  @Test func `G3: a partial response never replaces a complete one`() {
    let store = store()
    let stream = Recorder(store.stream("a", .cacheAndNetwork))
    server[0].answer(1, errors: [Failure()])
    #expect(stream.brief() == ["- …", "1 network !"])
    store.invalidate("a")
    server[1].answer(2)
    #expect(stream.brief().last == "2 network")

    let get = Recorder(store.get("a", .networkOnly))
    let hidden = Recorder(store.stream("a", .networkOnly))
    server[2].answer(3, errors: [Failure()])
    #expect(get.brief() == ["3 network !"])
    #expect(hidden.brief() == ["- …", "3 network !"])
    #expect(stream.brief() == ["2 memory …", "2 memory !"])
    #expect(store.peek("a")?.value == 2)
  }

  @Test func `a response that may not be cached is delivered to its readers, and not cached`() {
    var configuration = StoreConfiguration<Int>()
    configuration.isCacheable = { $0 >= 0 }
    let store = Store<String, Int>(.ofPartial(server.fetch), configuration: configuration)
    let first = Recorder(store.get("a", .networkOnly))
    server[0].answer(-1)
    #expect(first.brief() == ["-1 network"])
    #expect(store.peek("a") == nil)
    store.save(1, for: "a")
    let get = Recorder(store.get("a", .networkOnly))
    server[1].answer(-1)
    #expect(get.brief() == ["-1 network"])
    #expect(store.peek("a")?.value == 1)
    let change = Recorder(store.mutate(.of("a") { _ in 2 }, send: { .just(-2) }))
    #expect(change.take() == [-2])
    #expect(store.peek("a")?.value == 1)
  }

  @Test func `a response is cached under its own key`() {
    let store = Store<String, Int>(.ofPartial(server.fetch), keyForResponse: { _, value in "\(value)" })
    let own = Recorder(store.stream("7", .cacheOnly))
    let asked = Recorder(store.get("x", .networkOnly))
    server[0].answer(7)
    #expect(asked.brief() == ["7 network"])
    #expect(own.brief() == ["-", "7 network"])
    #expect(store.peek("x") == nil)
  }
}
