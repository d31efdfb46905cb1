import Stores
import StoresTestSupport
import Streams
import Testing

/// What comes of values that are invalidated while they are changed.
@Suite struct InvalidationTests {
  private let server = FakeServer<String, [String]>()
  private let store: Store<String, [String]>

  init() {
    store = Store(.ofPartial(server.fetch))
    store.save(["a"], for: "k")
  }

  @Test func `an invalidation during an update is not lost`() throws {
    let watch = Recorder(store.stream("k"))
    store.update("k") { value in
      store.invalidate("k")
      value.append("b")
    }
    #expect(store.peek("k")?.value == ["a", "b"])
    #expect(store.peek("k")?.isStale == true)
    // What was asked for before the update may be older than it.
    server[0].answer(["a"])
    #expect(store.peek("k")?.value == ["a", "b"])
    #expect(store.peek("k")?.isStale == true)
    try #require(server.count == 2)
    server[1].answer(["new"])
    #expect(store.peek("k")?.value == ["new"])
    #expect(store.peek("k")?.isStale == false)
    #expect(watch.take().last?.value == ["new"])
  }

  @Test func `a value that is updated after an invalidation is requested again, too`() throws {
    let watch = Recorder(store.stream("k"))
    store.invalidate("k")
    store.update("k") { $0.append("b") }
    server[0].answer(["a"])
    try #require(server.count == 2 && store.peek("k")?.value == ["a", "b"])
    server[1].answer(["new"])
    #expect(watch.take().last?.isStale == false)
  }

  @Test func `an invalidation is not lost if the reader whose request was running leaves`() throws {
    let watch = Recorder(store.stream("k"))
    let reader = Recorder(store.get("k", .networkOnly))
    store.invalidate("k")
    reader.dispose()
    #expect(!server[0].isCancelled.value)
    server[0].answer(["older"])
    try #require(server.count == 2)
    server[1].answer(["new"])
    #expect(watch.take().last?.brief == #"["new"] network"#)
  }

  @Test func `all keys, or some, are invalidated at once: in memory, on disk and watched`() throws {
    let truth = MemoryTruth<String, [String]>()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    for key in ["list 1", "list 2", "item"] { store.save([key], for: key) }
    // Another store has nothing in memory.
    let later = Store(.ofPartial(server.fetch), storage: .source(truth))
    let watch = Recorder(later.stream("list 1"))
    later.invalidateAll { $0.hasPrefix("list") }
    #expect(server.requests.value.map(\.key) == ["list 1"])
    #expect(["list 1", "list 2", "item"].map { truth.read($0)?.isInvalidated } == [true, true, false])
    server[0].answer(["new"])
    #expect(watch.take().last?.brief == #"["new"] network"#)
    later.invalidateAll()
    #expect(truth.read("item")?.isInvalidated == true)
    #expect(server.count == 2)
  }

  @Test func `an invalidation while a change is kept is not lost`() {
    store.save(["a"], for: "x")
    let isDue = Mutable(false)
    let change = Recorder(
      store.mutate(
        .ofAll(keyForResponse: { _ in "k" }) { [store] key, value in
          if key == "x", isDue.update({ exchange(&$0, with: false) }) { store.invalidate("x") }
          return value + ["b"]
        }, send: { [server] in server.fetch("k").map(\.value) }))
    isDue.update { $0 = true }
    server[0].answer(["a", "b"])
    #expect(change.isCompleted.value)
    #expect(!isDue.value)
    #expect(store.peek("x")?.value == ["a", "b"])
    #expect(store.peek("x")?.isStale == true)
  }

  @Test(arguments: [false, true])
  func `an invalidation while a change is sent is not lost to its response`(isForAll: Bool) throws {
    let truth = MemoryTruth<String, [String]>()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    store.save(["a"], for: "k")
    let watch = Recorder(store.stream("k"))
    let send = { @Sendable [server] in server.fetch("k").map(\.value) }
    let change = Recorder(
      isForAll
        ? store.mutate(.ofAll(keyForResponse: { _ in "k" }) { $1 + ["b"] }, send: send)
        : store.mutate(.of("k") { $0.map { $0 + ["b"] } }, send: send))
    store.invalidate("k")
    server[0].answer(["a", "b"])
    #expect(store.peek("k")?.value == ["a", "b"])
    #expect(store.peek("k")?.isStale == true)
    #expect(truth.read("k")?.isInvalidated == true)
    #expect(change.isCompleted.value)
    // It was asked for before the answer, and may be older.
    server[1].answer(["a"])
    try #require(server.count == 3 && store.peek("k")?.value == ["a", "b"])
    server[2].answer(["new"])
    #expect(watch.take().last?.brief == #"["new"] network"#)
    #expect(truth.read("k")?.isInvalidated == false)
  }

  @Test func `a response to a change that was made after an invalidation is fresh`() {
    store.invalidate("k")
    let change = Recorder(store.mutate(.of("k") { $0 }, send: { .just(["new"]) }))
    #expect(store.peek("k")?.value == ["new"])
    #expect(store.peek("k")?.isStale == false)
    #expect(change.isCompleted.value)
  }
}
