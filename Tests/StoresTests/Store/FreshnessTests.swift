import Foundation
import GraphQLClient
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@Suite("freshness, on a virtual clock")
struct FreshnessTests {
  let server = FakeServer<String, Int>()
  let scheduler = TestScheduler()

  func store(_ freshness: Freshness) -> Store<String, Int> {
    var configuration = StoreConfiguration<Int>()
    configuration.freshness = freshness
    configuration.mayServeStale = { _ in true }
    configuration.clock = .scheduler(scheduler)
    return Store(.ofPartial(server.fetch), configuration: configuration)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .seconds(Int64.max / 1_000_000 + 1)])
  func `a time that is later by any duration does not wrap`(duration: Duration) {
    for time in [StoreTime.now(), StoreTime(microseconds: 0)] {
      #expect((time + duration > time) == (duration > .zero))
    }
    #expect(StoreTime(microseconds: .max) + .microseconds(1) == StoreTime(microseconds: .max))
    #expect(StoreTime(microseconds: 5) + .milliseconds(-1) == StoreTime(microseconds: -995))
  }

  @Test func `a time and a date become each other`() {
    let time = StoreTime(microseconds: 1_800_000_000_123_456)
    #expect(StoreTime(time.date) == time)
    #expect(StoreTime(Date(timeIntervalSince1970: .infinity)).microseconds == .max)
    #expect(StoreTime(.distantPast).date == .distantPast)
  }

  @Test func `a stale value is shown, and requested again`() {
    let store = store(Freshness(staleTime: .seconds(10)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(9))
    #expect(Recorder(store.stream("a", .cacheFirst)).brief() == ["1 memory"])
    scheduler.advance(by: .seconds(1))
    let stream = Recorder(store.stream("a", .cacheFirst))
    #expect(stream.brief() == ["1 memory ~ …"])
    server[0].answer(2)
    #expect(stream.brief() == ["2 network"])
  }

  @Test func `a stale value counts as missing for a single read`() {
    let store = store(Freshness(staleTime: .seconds(10)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    let get = Recorder(store.get("a", .cacheFirst))
    #expect(get.take().isEmpty)
    server[0].fail()
    #expect(get.brief() == ["1 memory ~ !"])
  }

  @Test func `a value expires after it was written`() {
    let store = store(Freshness(expireAfterWrite: .seconds(10)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    #expect(store.peek("a") == nil)
    #expect(Recorder(store.get("a", .cacheOnly)).error.value as? StoreError == .notCached)
  }

  @Test func `a watcher is notified that a value has expired when another one finds it so`() {
    let store = store(Freshness(expireAfterWrite: .seconds(10)))
    store.save(1, for: "a")
    let watch = Recorder(store.stream("a", .cacheOnly))
    scheduler.advance(by: .seconds(10))
    #expect(Recorder(store.get("a", .cacheOnly)).error.value as? StoreError == .notCached)
    #expect(watch.brief() == ["1 memory", "-"])
  }

  @Test func `a read puts off the expiry after access`() {
    let store = store(Freshness(expireAfterAccess: .seconds(10)))
    store.save(1, for: "a")
    for _ in 0..<3 {
      scheduler.advance(by: .seconds(9))
      #expect(Recorder(store.get("a", .cacheOnly)).brief() == ["1 memory"])
    }
    scheduler.advance(by: .seconds(10))
    #expect(Recorder(store.get("a", .cacheOnly)).take().isEmpty)
  }

  @Test(arguments: [
    RequestError(.cannotConnect, ""), RequestError(.connectionLost, ""), RequestError(.timedOut, ""),
    RequestError(.circuitOpen, ""), RequestError(.overloaded, ""), RequestError(.httpStatus, "", status: 408),
    RequestError(.httpStatus, "", status: 429), RequestError(.httpStatus, "", status: 500),
    RequestError(.graphQL, "", status: 503),
  ])
  func `the cached value replaces the response in an outage`(outage: RequestError) {
    let (get, stream) = readings(after: outage)
    #expect(get.brief() == ["1 memory !"])
    #expect(stream.brief() == ["- …", "1 memory !"])
  }

  @Test(arguments: [
    RequestError(.httpStatus, "", status: 400), RequestError(.httpStatus, "", status: 401),
    RequestError(.httpStatus, "", status: 403), RequestError(.httpStatus, "", status: 404),
    RequestError(
      .graphQL, "", cause: GraphQLErrors([GraphQLError(message: "", extensions: ["code": "UNAUTHENTICATED"])])),
    RequestError(.graphQL, "", cause: GraphQLErrors([GraphQLError(message: "", extensions: ["code": "FORBIDDEN"])])),
    RequestError(.undecodable, ""), RequestError(.unknown, ""),
  ])
  func `a refusal, and any other failure than an outage, gives no cached value`(refusal: RequestError) {
    let (get, stream) = readings(after: refusal)
    #expect((get.error.value as? RequestError)?.kind == refusal.kind)
    #expect(get.elements.value.isEmpty)
    #expect(stream.take().allSatisfy { $0.value == nil })
  }

  /// A read and a watched key of a store with the defaults, after the failure of their request.
  private func readings(after error: RequestError) -> (Recorder<Snapshot<Int>>, Recorder<Snapshot<Int>>) {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    store.save(1, for: "a")
    let (get, stream) = (Recorder(store.get("a", .networkFirst)), Recorder(store.stream("a", .networkFirst)))
    server[0].fail(error)
    return (get, stream)
  }

  @Test func `a value older than a week stands in for nothing by default`() {
    #expect(Freshness().staleIfError == .seconds(7 * 86_400))
  }

  @Test func `a value that is too old does not stand in for a failure`() {
    let store = store(Freshness(staleIfError: .seconds(10)))
    store.save(1, for: "a")
    scheduler.advance(by: .seconds(10))
    let young = Recorder(store.get("a", .networkFirst))
    server[0].fail()
    #expect(young.brief() == ["1 memory !"])
    scheduler.advance(by: .seconds(1))
    let old = Recorder(store.get("a", .networkFirst))
    let stream = Recorder(store.stream("a", .networkFirst))
    server[1].fail()
    #expect(old.error.value is Failure)
    #expect(stream.brief() == ["- …", "- !"])
  }

  @Test func `a date in the future is stale, and its age is zero`() {
    let time = Mutable(StoreTime(microseconds: 10_000_000))
    var configuration = StoreConfiguration<Int>()
    configuration.clock = StoreClock { time.value }
    let store = Store<String, Int>(.ofPartial(server.fetch), configuration: configuration)
    store.save(1, for: "a")
    time.update { $0 = StoreTime(microseconds: 5_000_000) }
    let snapshot = store.peek("a")
    #expect(snapshot?.isStale == true)
    #expect(snapshot?.age == .zero)
  }

  @Test func `an invalidated value is requested again by watchers that may`() {
    let store = store(Freshness())
    store.save(1, for: "a")
    let asking = Recorder(store.stream("a", .cacheFirst))
    let silent = Recorder(store.stream("a", .cacheOnly))
    store.invalidate("a")
    #expect(server.count == 1)
    server[0].answer(2)
    #expect(asking.brief() == ["1 memory", "1 memory ~ …", "2 network"])
    #expect(silent.brief() == ["1 memory", "1 memory ~ …", "2 network"])
  }

  @Test func `a response to a request that began before the invalidation is requested again`() {
    let store = store(Freshness())
    let stream = Recorder(store.stream("a", .cacheFirst))
    store.invalidate("a")
    server[0].answer(1)
    #expect(server.count == 2)
    server[1].answer(2)
    #expect(stream.brief() == ["- …", "1 network ~ …", "2 network"])
  }
}
