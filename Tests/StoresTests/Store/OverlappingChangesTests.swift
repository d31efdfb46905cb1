import StoresTestSupport
import Streams
import Testing

@testable import Stores

/// Many changes in flight, and what is remembered for them.
@Suite struct OverlappingChangesTests {
  private let server = FakeServer<String, [String]>()
  private let store: Store<String, [String]>

  init() { store = Store(.ofPartial(server.fetch)) }

  @Test func `the second response of two overlapping changes is not cached, so the value is requested again`() {
    let fetches = FakeServer<String, [String]>()
    let store = Store(.ofPartial(fetches.fetch))
    store.save([], for: "k")
    let responses = (PublishSubject<[String]>(), PublishSubject<[String]>())
    let first = Recorder(store.mutate(.of("k") { $0.map { $0 + ["1"] } }, send: { responses.0.asObservable() }))
    let second = Recorder(
      store.mutate(.of("k") { $0.map { $0 + ["2"] } }, send: { responses.1.asObservable() }))
    let watch = Recorder(store.stream("k", .cacheFirst))
    responses.0.onNext(["server: 1"])
    responses.1.onNext(["server: 1 and 2"])
    #expect(first.isCompleted.value)
    #expect(second.isCompleted.value)
    let guess = watch.take().last
    #expect(guess?.value == ["server: 1", "2"])
    #expect(guess?.isStale == true)
    #expect(guess?.isFetching == true)
    fetches[0].answer(["server: 1 and 2"])
    #expect(watch.brief() == [#"["server: 1 and 2"] network"#])
  }

  @Test func `O2: keys whose changes have ended are forgotten, though others are still being sent`() {
    let later = FakeServer<Int, [String]>()
    let changes = (0..<10_000).map { index in
      let change = Recorder(
        store.mutate(.of("\(index)") { _ in ["b"] }, send: { later.fetch(index).map(\.value) }))
      if index > 0 { later[index - 1].answer(["answer"]) }
      return change
    }
    #expect(changes.dropLast().allSatisfy { $0.isCompleted.value })
    #expect(store.perform { $0.writes.count } < 5)
  }

  @Test func `a request that never ends makes the store remember a limited number of keys`() throws {
    let endless = Recorder(store.get("endless", .networkOnly))
    for number in 0..<70_000 { store.save([], for: "\(number)") }
    #expect(store.perform { $0.writes.count } == 65_536)
    // Nothing is forgotten that was done since a later request began.
    let reader = Recorder(store.get("k"))
    server[1].answer(["a"])
    #expect(reader.isCompleted.value)
    #expect(store.peek("k")?.isStale == false)
    endless.dispose()
    #expect(store.perform { $0.writes.isEmpty })
  }

  @Test(arguments: [true, false])
  func `a key that may have been forgotten counts as changed and invalidated`(isInvalidated: Bool) throws {
    store.save(["a"], for: "k")
    let watch = Recorder(store.stream("k"))
    let reader = Recorder(store.get("k", .networkOnly))
    if isInvalidated { store.invalidate("k") } else { store.save(["b"], for: "k") }
    for number in 0..<70_000 { store.save([], for: "\(number)") }
    server[0].answer(["old"])
    #expect(reader.take().first?.value == ["old"])
    #expect(watch.take().allSatisfy { $0.value != ["old"] })
    #expect(store.peek("k")?.value == (isInvalidated ? ["a"] : ["b"]))
    try #require(server.count == 2)
    server[1].answer(["new"])
    #expect(watch.take().last?.brief == #"["new"] network"#)
  }

  @Test func `O2: thousands of short-lived watchers and readers leave nothing but the cache`() {
    let requests = FakeServer<Int, String>()
    let store = Store<Int, String>(.ofPartial(requests.fetch))
    for key in 0..<10_000 {
      let watcher = Recorder(store.stream(key, .cacheAndNetwork))
      let reader = Recorder(store.get(key, .networkOnly))
      if key.isMultiple(of: 2) { requests[key].answer("a") }
      watcher.dispose()
      reader.dispose()
    }
    #expect(store.perform { $0.entries.isEmpty && $0.layers.isEmpty && $0.writes.isEmpty })
  }

  @Test func `a change that is disposed while its response is cached does not undo what is newer`() {
    for key in ["k", "x"] { store.save(["a"], for: key) }
    let isDue = Mutable(false)
    let bag = DisposeBag()
    store.mutate(
      .ofAll(keyForResponse: { _ in "k" }) { key, value in
        if key == "x", isDue.value { bag.dispose() }
        return value + ["b"]
      }, send: { [server] in server.fetch("k").map(\.value) }
    ).subscribe(onNext: { _ in }).disposed(by: bag)
    let later = Recorder(store.get("k", .networkOnly))
    server[1].answer(["newer"])
    isDue.update { $0 = true }
    server[0].answer(["older"])
    #expect(store.peek("k")?.value == ["newer", "b"])
    #expect(later.isCompleted.value)
  }

  @Test func `changes of one value and of all lie over each other in the order in which they were made`() {
    for key in ["k", "x"] { store.save([], for: key) }
    let changes = (0..<4).map { index in
      let send = { @Sendable [server] in server.fetch("k").map(\.value) }
      return Recorder(
        index % 2 == 0
          ? store.mutate(.of("k") { $0.map { $0 + ["\(index)"] } }, send: send)
          : store.mutate(.ofAll(keyForResponse: { _ in "k" }) { $1 + ["\(index)"] }, send: send))
    }
    #expect(store.peek("k")?.value == ["0", "1", "2", "3"])
    #expect(store.peek("x")?.value == ["1", "3"])
    for index in [1, 2] { changes[index].dispose() }
    #expect(store.peek("k")?.value == ["0", "3"])
    #expect(store.peek("x")?.value == ["3"])
    for index in [0, 3] { changes[index].dispose() }
    #expect(store.peek("k")?.value == [])
    #expect(store.peek("x")?.source == .memory)
    #expect(store.perform { $0.layers.isEmpty && $0.writes.isEmpty })
  }
}
