import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("reading what fails, or comes in part")
struct FailingKeyTests {
  let server = FakeServer<String, Int>()
  let scheduler = TestScheduler()

  func store(_ change: (inout StoreConfiguration<Int>) -> Void = { _ in }) -> Store<String, Int> {
    var configuration = StoreConfiguration<Int>()
    configuration.clock = .scheduler(scheduler)
    configuration.backoff = Backoff(initial: .seconds(1), maximum: .seconds(4), jitter: 0)
    change(&configuration)
    return Store(.ofPartial(server.fetch), configuration: configuration)
  }

  @Test func `R6: reads of a failing key make a request only after each pause`() {
    let store = store()
    var errors = 0
    for tick in 0..<200 {
      let read = Recorder(store.get("a", .cacheFirst))
      if tick == 0 || read.error.value == nil { server.requests.value.last?.fail(RequestError(.timedOut, "slow")) }
      if (read.error.value as? RequestError)?.kind == .timedOut { errors += 1 }
      scheduler.advance(by: .milliseconds(100))
    }
    // At 0, 1, 3, 7, 11, 15 and 19 seconds.
    #expect(errors == 200)
    #expect(server.count == 7)
  }

  @Test func `a pause ends with a value, an invalidation, a removal, and its time`() async throws {
    let store = store()
    func fail() { Recorder(store.get("a", .networkOnly)).dispose(after: { server.requests.value.last?.fail() }) }
    func isPaused() -> Bool {
      let count = server.count
      Recorder(store.get("a", .cacheFirst)).dispose()
      return server.count == count
    }
    fail()
    #expect(isPaused())
    await store.invalidate("a")
    #expect(!isPaused())
    fail()
    #expect(isPaused())
    await store.remove("a")
    #expect(!isPaused())
    fail()
    try await store.clear()
    #expect(!isPaused())
    fail()
    scheduler.advance(by: .seconds(1))
    #expect(!isPaused())
    fail()
    await store.save(1, for: "a")
    #expect(Recorder(store.get("a", .cacheFirst)).brief() == ["1 memory"])
  }

  @Test func `networkOnly, noCache and fresh make a request in any case`() {
    let store = store()
    for policy in [FetchPolicy.networkOnly, .noCache] {
      Recorder(store.get("a", policy)).dispose(after: { server.requests.value.last?.fail() })
    }
    Recorder(store.fresh("a")).dispose(after: { server.requests.value.last?.fail() })
    #expect(server.count == 3)
  }

  @Test func `during a pause a stale value stands in as after a request, and watchers see the failure`() {
    let store = store { $0.freshness.staleTime = .seconds(10) }
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    let outage = RequestError(.timedOut, "slow")
    let first = Recorder(store.get("a", .cacheFirst))
    server[0].fail(outage)
    #expect(first.brief() == ["1 memory ~ !"])
    for policy in [FetchPolicy.cacheFirst, .networkFirst, .cacheAndNetwork, .staleWhileRevalidate] {
      let read = Recorder(store.get("a", policy))
      #expect(read.take().first?.value == 1, "\(policy)")
      #expect(read.isCompleted.value, "\(policy)")
      #expect(Recorder(store.stream("a", policy)).take().first?.value == 1, "\(policy)")
    }
    #expect(server.count == 1)
  }

  @Test func `a refusal makes no pause, since the next read may have another token`() {
    let store = store()
    for status in [401, 403] {
      for _ in 0..<2 {
        let read = Recorder(store.get("a", .cacheFirst))
        server.requests.value.last?.fail(RequestError(.httpStatus, "", status: status))
        #expect(read.error.value != nil)
      }
    }
    #expect(server.count == 4)
  }

  @Test func `R6: a pause is as long as the server asks for`() {
    let store = store()
    var busy = RequestError(.httpStatus, "", status: 503)
    busy.retryAfter = .seconds(60)
    let read = Recorder(store.get("a", .cacheFirst))
    server[0].fail(busy)
    #expect(read.error.value != nil)
    scheduler.advance(by: .seconds(59))
    #expect(Recorder(store.get("a", .cacheFirst)).error.value != nil)
    scheduler.advance(by: .seconds(1))
    Recorder(store.get("a", .cacheFirst)).dispose()
    #expect(server.count == 2)
  }

  @Test func `a partial value serves for its time`() {
    let store = store { $0.freshness = Freshness(staleTime: .seconds(60), partialTime: .seconds(10)) }
    let first = Recorder(store.get("a", .cacheFirst))
    server[0].answer(1, errors: [Failure()])
    #expect(first.brief() == ["1 network !"])
    for _ in 0..<5 { #expect(Recorder(store.get("a", .cacheFirst)).brief() == ["1 memory !"]) }
    scheduler.advance(by: .seconds(10))
    Recorder(store.get("a", .cacheFirst)).dispose()
    #expect(server.count == 2)
    let eager = self.store { $0.freshness.partialTime = .zero }
    Recorder(eager.get("a", .networkOnly)).dispose(after: { server.requests.value.last?.answer(1, errors: [Failure()]) }
    )
    Recorder(eager.get("a", .cacheFirst)).dispose()
    #expect(server.count == 4)
  }

  @Test func `a complete value serves for as long as the part that could not replace it`() {
    let store = store { $0.freshness = Freshness(staleTime: .seconds(10), partialTime: .seconds(5)) }
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    let first = Recorder(store.get("a", .cacheFirst))
    server[0].answer(2, errors: [Failure()])
    #expect(first.brief() == ["2 network !"])
    for _ in 0..<5 { #expect(Recorder(store.get("a", .cacheFirst)).take().first?.value == 1) }
    #expect(server.count == 1)
    scheduler.advance(by: .seconds(5))
    Recorder(store.get("a", .cacheFirst)).dispose()
    #expect(server.count == 2)
  }
}

extension Recorder {
  /// Disposes the subscription after something.
  func dispose(after action: () -> Void) {
    action()
    dispose()
  }
}
