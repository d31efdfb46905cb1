import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("refreshing behind a reader's back")
struct RevalidationTests {
  let server = FakeServer<String, Int>()
  let scheduler = TestScheduler()

  func store(_ freshness: Freshness) -> Store<String, Int> {
    var configuration = StoreConfiguration<Int>()
    configuration.freshness = freshness
    configuration.clock = .scheduler(scheduler)
    return Store(.ofPartial(server.fetch), configuration: configuration)
  }

  @Test func `a stale value is returned at once, and refreshed once, though all readers leave`() {
    let store = store(Freshness(staleTime: .seconds(10)))
    store.save(1, for: "a")
    #expect(Recorder(store.get("a", .staleWhileRevalidate)).brief() == ["1 memory"])
    #expect(server.count == 0)
    scheduler.advance(by: .seconds(10))
    for _ in 0..<20 {
      let read = Recorder(store.get("a", .staleWhileRevalidate))
      #expect(read.brief() == ["1 memory ~ …"])
      #expect(read.isCompleted.value)
      read.dispose()
    }
    let stream = Recorder(store.stream("a", .staleWhileRevalidate).take(1))
    #expect(stream.brief() == ["1 memory ~ …"])
    #expect(stream.isCompleted.value)
    #expect(server.count == 1)
    #expect(!server[0].isCancelled.value)
    server[0].answer(2)
    #expect(Recorder(store.get("a", .staleWhileRevalidate)).brief() == ["2 memory"])
  }

  @Test func `a request that a reader began is continued for a refresh`() {
    let store = store(Freshness(staleTime: .seconds(10)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    let reader = Recorder(store.get("a", .networkOnly))
    Recorder(store.stream("a", .staleWhileRevalidate)).dispose()
    reader.dispose()
    #expect(server.count == 1)
    #expect(!server[0].isCancelled.value)
    server[0].answer(2)
    #expect(store.peek("a")?.value == 2)
  }

  @Test func `without a value the network is waited for`() {
    let store = store(Freshness(expireAfterWrite: .seconds(10)))
    let missing = Recorder(store.get("a", .staleWhileRevalidate))
    #expect(missing.take().isEmpty)
    server[0].answer(1)
    #expect(missing.brief() == ["1 network"])
    scheduler.advance(by: .seconds(10))
    let expired = Recorder(store.get("a", .staleWhileRevalidate))
    #expect(expired.take().isEmpty)
    expired.dispose()
    #expect(server[1].isCancelled.value)
  }

  @Test(arguments: [FetchPolicy.cacheFirst, .staleWhileRevalidate])
  func `a value is refreshed before it becomes stale`(policy: FetchPolicy) {
    let store = store(Freshness(staleTime: .seconds(10), refreshAfterWrite: .seconds(6)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(5))
    #expect(Recorder(store.get("a", policy)).brief() == ["1 memory"])
    #expect(server.count == 0)
    scheduler.advance(by: .seconds(1))
    #expect(Recorder(store.get("a", policy)).brief() == ["1 memory …"])
    #expect(Recorder(store.get("a", .cacheOnly)).brief() == ["1 memory …"])
    #expect(server.count == 1)
    server[0].answer(2)
    scheduler.advance(by: .seconds(5))
    #expect(Recorder(store.get("a", policy)).brief() == ["2 memory"])
    #expect(server.count == 1)
  }

  @Test func `a refresh that fails leaves the value, and pauses`() {
    let store = store(Freshness(staleTime: .seconds(10)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    Recorder(store.get("a", .staleWhileRevalidate)).dispose()
    server[0].fail()
    for _ in 0..<20 {
      #expect(Recorder(store.get("a", .staleWhileRevalidate)).take().first?.value == 1)
    }
    #expect(server.count == 1)
  }
}
