import GraphQLClient
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

/// What a server pushes, in a store.
@Suite struct LiveStoreTests {
  private let server = FakeServer<String, String>()
  private let events = PublishSubject<LiveEvent<String>>()
  private let scheduler = TestScheduler()

  private func store() -> Store<String, String> {
    var configuration = StoreConfiguration<String>()
    configuration.clock = .scheduler(scheduler)
    configuration.idleTime = nil
    return Store(.ofPartial { [server] in server.fetch($0) }, configuration: configuration)
  }

  /// Follows the key "k": what is pushed is appended, unless it is there.
  private func follow(_ store: Store<String, String>) -> Recorder<LiveEvent<String>> {
    Recorder(
      store.follow("k", events.asObservable(), scheduler: scheduler) { live, value in
        value.contains(live) ? nil : value + live
      })
  }

  @Test func `a pushed value is seen by each watcher once, and in order`() {
    let store = store()
    let watchers = (0..<2).map { _ in Recorder(store.values("k")) }
    let following = follow(store)
    store.save("", for: "k")
    for live in ["a", "b", "c"] { events.onNext(.value(live)) }
    for watcher in watchers { #expect(watcher.take() == ["", "a", "ab", "abc"]) }
    #expect(following.take() == [.value("a"), .value("b"), .value("c")])
    #expect(server.count == 0)
  }

  @Test func `a pushed value that changes nothing wakes nobody`() {
    let store = store()
    let following = follow(store)
    store.save("a", for: "k")
    let watcher = Recorder(store.values("k"))
    events.onNext(.value("a"))
    #expect(watcher.take() == ["a"])
    #expect(following.take() == [.value("a")])
  }

  @Test func `L8: a response that was asked for before a pushed value does not undo it`() {
    let store = store()
    let following = follow(store)
    store.save("", for: "k")
    let watcher = Recorder(store.stream("k", .cacheAndNetwork).compactMap(\.value).distinctUntilChanged())
    #expect(server.count == 1)
    events.onNext(.value("a"))
    server[0].answer("")
    #expect(watcher.take() == ["", "a"])
    // It is requested again after a pause, since it may have had other news.
    #expect(server.count == 1)
    scheduler.advance(by: .seconds(1))
    #expect(server.count == 2)
    server[1].answer("za")
    #expect(watcher.take() == ["za"])
    #expect(following.take().count == 1)
  }

  @Test func `L8: a value that is pushed before there is one is in the next response`() {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheAndNetwork).compactMap(\.value).distinctUntilChanged())
    events.onNext(.value("a"))
    server[0].answer("")
    #expect(store.peek("k")?.value == "a")
    scheduler.advance(by: .seconds(1))
    #expect(server.count == 2)
    server[1].answer("a")
    #expect(watcher.take().last == "a")
    #expect(following.take().count == 1)
  }

  @Test func `L8: the response to a change that was sent before a push is stale, though no value was there to push to`()
  {
    let store = store()
    let following = follow(store)
    let answer = PublishSubject<String>()
    let change = Recorder(store.mutate(.of("k") { $0 }, send: { answer.asObservable() }))
    events.onNext(.value("a"))
    answer.onNext("old")
    #expect(change.isCompleted.value)
    #expect(store.peek("k")?.value == "old")
    #expect(store.peek("k")?.isStale == true)
    #expect(following.take().count == 1)
  }

  @Test(arguments: [
    LiveEvent<String>.connected, .reconnected, .dropped(3),
  ])
  func `L2: what is watched is fetched again after a gap`(event: LiveEvent<String>) {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].answer("old")
    events.onNext(event)
    #expect(server.count == 2)
    server[1].answer("new")
    #expect(watcher.take().last?.value == "new")
    #expect(following.take() == [event])
  }

  @Test func `nothing is fetched without a gap, or without a watcher`() {
    let store = store()
    let following = follow(store)
    store.save("a", for: "k")
    events.onNext(.reconnected)
    #expect(server.count == 0)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].answer("b")
    events.onNext(.disconnected(RequestError(.connectionLost, "Cut."), retryAfter: .zero))
    events.onNext(.resumed)
    #expect(server.count == 1)
    #expect(watcher.take().last?.value == "b")
    #expect(following.take().count == 3)
  }

  @Test(arguments: [false, true], [false, true])
  func `a request for what was missed that fails in an outage is made again, until it succeeds`(
    isPushed: Bool, isPartial: Bool
  ) {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].answer("old", errors: isPartial ? [Failure()] : [])
    events.onNext(.reconnected)
    for index in 1...5 {
      server[index].fail(RequestError(.cannotConnect, "Refused."))
      // No answer, as what was missed is not in it.
      if isPushed { events.onNext(.value("\(index)")) }
      scheduler.advance(by: .seconds(60))
      #expect(server.count == index + 2)
    }
    server[6].answer("new")
    scheduler.advance(by: .seconds(600))
    #expect(server.count == 7)
    #expect(watcher.take().last?.value == "new")
    following.dispose()
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `R6: it is made no sooner than the server asks for`() {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    var error = RequestError(.httpStatus, "Busy.", status: 503)
    error.retryAfter = .seconds(120)
    server[0].fail(error)
    scheduler.advance(by: .seconds(119))
    #expect(server.count == 1)
    scheduler.advance(by: .seconds(1))
    #expect(server.count == 2)
    server[1].answer("new")
    #expect(watcher.take().last?.value == "new")
    following.dispose()
  }

  @Test func `a request that the server refuses is not made again, and nothing is after the end`() {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].fail(RequestError(.httpStatus, "No.", status: 404))
    scheduler.advance(by: .seconds(600))
    #expect(server.count == 1)
    events.onNext(.reconnected)
    following.dispose()
    server[1].fail(RequestError(.cannotConnect, "Refused."))
    scheduler.advance(by: .seconds(600))
    #expect(server.count == 2)
    #expect(watcher.take().last?.value == nil)
  }

  @Test func `optimistic changes stay on top of what is pushed, and it remains when they fail`() {
    let store = store()
    let following = follow(store)
    store.save("", for: "k")
    let watcher = Recorder(store.values("k"))
    let answer = PublishSubject<String>()
    let change = Recorder(
      store.mutate(.of("k") { $0.map { $0 + "!" } }, send: { answer.asObservable() }))
    events.onNext(.value("a"))
    answer.onError(Failure())
    #expect(watcher.take() == ["", "!", "a!", "a"])
    #expect(change.error.value is Failure)
    #expect(following.take().count == 1)
  }
}
