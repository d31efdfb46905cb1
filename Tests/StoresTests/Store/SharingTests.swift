import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

@Suite("sharing of requests and writes")
struct SharingTests {
  let server = FakeServer<String, Int>()

  @Test func `O5: 100 equal reads at once make one request`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let reads = (0..<100).map { index in Recorder(store.get("a", index % 2 == 0 ? .networkOnly : .cacheFirst)) }
    #expect(server.count == 1)
    server[0].answer(1)
    #expect(reads.allSatisfy { $0.brief() == ["1 network"] && $0.isCompleted.value })
  }

  @Test func `O5: the request is cancelled by the last dispose alone`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let gets = (0..<50).map { _ in Recorder(store.get("a", .networkOnly)) }
    let streams = (0..<50).map { _ in Recorder(store.stream("a", .cacheFirst)) }
    for read in gets { read.dispose() }
    for stream in streams.dropLast() { stream.dispose() }
    #expect(!server[0].isCancelled.value)
    streams.last?.dispose()
    #expect(server.count == 1)
    #expect(server[0].isCancelled.value)
  }

  @Test func `O5: racing reads and disposals leave no request behind`() throws {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    for _ in 0..<TestScale.count(200, long: 10_000) {
      try race(4) { _ in
        let read = Recorder(store.get("a", .networkOnly))
        read.dispose()
      }
    }
    #expect(server.requests.value.allSatisfy { $0.isCancelled.value })
  }

  @Test func `a parameter that a key leaves out does not tell requests apart, and one that it has does`() {
    /// What is asked for, as one version of an app and for one trace, which does not matter.
    struct Key: Hashable {
      let id: String
      let version: String
      let trace: Int

      static func == (left: Key, right: Key) -> Bool { left.id == right.id && left.version == right.version }

      func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(version)
      }
    }
    let server = FakeServer<Key, Int>()
    let store = Store(.ofPartial(server.fetch))
    let reads = ["1.0", "1.0", "2.0"].enumerated().map { trace, version in
      Recorder(store.get(Key(id: "a", version: version, trace: trace), .networkOnly))
    }
    #expect(server.count == 2)
    #expect(server[0].key.trace == 0)
    server[0].answer(1)
    #expect(reads.map { $0.isCompleted.value } == [true, true, false])
  }

  @Test func `S2: equal keys of two accounts are two requests`() throws {
    let other = FakeServer<String, Int>()
    let group = StoreGroup<String, String, Int> { partition in
      let server = partition == "one" ? server : other
      return Store(.ofPartial(server.fetch))
    }
    let first = Recorder(try group.store(for: "one").get("a", .networkOnly))
    let second = Recorder(try group.store(for: "two").get("a", .networkOnly))
    #expect(server.count == 1)
    #expect(other.count == 1)
    other[0].answer(2)
    #expect(first.take().isEmpty)
    #expect(second.brief() == ["2 network"])
    #expect(try group.store(for: "one").peek("a") == nil)
  }

  @Test func `S1: a closed store that is still used writes nothing after its account was signed out`() async throws {
    let truth = MemoryTruth<String, Int>()
    let group = StoreGroup<String, String, Int> { _ in Store(.ofPartial(server.fetch), storage: .source(truth)) }
    let closed = try group.store(for: "A")
    let watch = Recorder(closed.stream("a", .cacheFirst))
    await group.close("A")
    #expect(server[0].isCancelled.value)
    #expect(watch.isCompleted.value)
    try await group.signOut("A")
    server[0].answer(1)
    #expect(truth.keys() == [])
    #expect(watch.take().allSatisfy { $0.value == nil })
    await closed.save(2, for: "a")
    #expect(truth.keys() == [])
  }

  @Test func `S1: a store whose data cannot be removed stays signed out, and another call removes them`() async throws {
    let (server, truth) = (FakeServer<String, String>(), FlakyTruth())
    let group = StoreGroup<String, String, String> { _ in Store(.ofPartial(server.fetch), storage: .source(truth)) }
    let store = try group.store(for: "A")
    truth.failing.update { $0 = [.removeAll] }
    await #expect(throws: (any Error).self) { try await group.signOut("A") }
    #expect(Recorder(store.get("k", .cacheOnly)).error.value as? StoreError == .signedOut)
    truth.failing.update { $0 = [] }
    try await group.signOut("A")
    #expect(try group.store(for: "A") !== store)
  }

  @Test func `S1: accounts whose names only look the same are apart`() async throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let group = StoreGroup<String, String, Int> { _ in Store(.ofPartial(FakeServer<String, Int>().fetch)) }
    let store = try group.store(for: composed)
    #expect(try group.store(for: decomposed) !== store)
    #expect(try group.store(for: "\u{E9}") === store)
    try await group.signOut(composed)
    #expect(try group.store(for: composed) !== store)
  }

  @Test func `S1: an account that is opened while it is being opened has one store`() throws {
    let (group, inner) = (Mutable<StoreGroup<String, String, Int>?>(nil), Mutable<Store<String, Int>?>(nil))
    let isFirst = Mutable(true)
    let made = StoreGroup<String, String, Int> { name in
      if isFirst.update({ exchange(&$0, with: false) }) {
        let store = try group.value?.store(for: name)
        inner.update { $0 = store }
      }
      return Store(.ofPartial(FakeServer<String, Int>().fetch))
    }
    group.update { $0 = made }
    let outer = try made.store(for: "a")
    #expect(outer === inner.value)
    group.update { $0 = nil }
  }

  @Test func `O4: one write wakes each watcher of its key once, and no other`() {
    let store = Store<Int, Int>(.ofPartial(FakeServer<Int, Int>().fetch))
    let watchers = (0..<100).map { index in (index, Recorder(store.stream(index % 10, .cacheOnly))) }
    for (_, watcher) in watchers { _ = watcher.take() }
    store.save(1, for: 3)
    for (index, watcher) in watchers {
      #expect(watcher.brief() == (index % 10 == 3 ? ["1 memory"] : []))
    }
  }

  @Test func `O4: a response of the network notifies each watcher once`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let watcher = Recorder(store.stream("a", .cacheOnly))
    let fetch = Recorder(store.get("a", .networkOnly))
    _ = watcher.take()
    server[0].answer(1)
    #expect(watcher.brief() == ["1 network"])
    #expect(fetch.brief() == ["1 network"])
  }

  @Test func `O3: a late subscriber gets the current value, later ones in order, and the last`() throws {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    for round in 0..<TestScale.count(500, long: 100_000) {
      let key = "\(round % 7)"
      store.save(0, for: key)
      let late = Mutable<Recorder<Snapshot<Int>>?>(nil)
      try race(2) { thread in
        if thread == 0 {
          for value in 1...3 { store.save(value, for: key) }
        } else {
          late.update { $0 = Recorder(store.stream(key, .cacheOnly)) }
        }
      }
      let values = late.value?.take().compactMap(\.value) ?? []
      // In order to the last; while it handles one, it may miss all but the latest.
      #expect(zip(values, values.dropFirst()).allSatisfy(<), "round \(round)")
      #expect(values.last == 3, "round \(round)")
      // Here, and not where the last thread of this round comes to its end: that may be within a later round, whose
      // deliveries it would make, later than that round has an eye on them.
      late.value?.dispose()
    }
  }

  @Test func `a write inside a watcher's callback is seen after it, and the latest one by all`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let inside = store.stream("a", .cacheOnly).subscribe(onNext: { snapshot in
      if let value = snapshot.value, value < 5 { store.save(value + 1, for: "a") }
    })
    let other = Recorder(store.stream("a", .cacheOnly))
    store.save(1, for: "a")
    let values = other.take().compactMap(\.value)
    #expect(values == values.sorted())
    #expect(values.last == 5)
    inside.dispose()
  }

  @Test func `a late response does not overwrite a value that was saved since its request began`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let get = Recorder(store.get("a", .networkOnly))
    store.save(2, for: "a")
    server[0].answer(1)
    #expect(get.brief() == ["1 network"])
    #expect(store.peek("a")?.value == 2)
  }

  @Test func `a late response that a write has superseded is not shown either, when that was removed`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let watcher = Recorder(store.stream("a", .cacheOnly))
    let get = Recorder(store.get("a", .networkOnly))
    store.save(2, for: "a")
    store.remove("a")
    server[0].answer(1)
    #expect(watcher.take().last?.value == nil)
    #expect(get.take().last?.value == 1)
  }

  @Test func `reads are counted, and writes are not`() {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    for value in 0..<5 { store.save(value, for: "a") }
    store.update("a") { $0 += 1 }
    store.invalidate("a")
    #expect(store.statistics.hits == 0)
    #expect(store.statistics.misses == 0)
    let watcher = Recorder(store.stream("a", .cacheOnly))
    for _ in 0..<3 { Recorder(store.get("a", .cacheOnly)).dispose() }
    Recorder(store.get("b", .cacheOnly)).dispose()
    #expect(store.statistics.hits == 4)
    #expect(store.statistics.misses == 1)
    watcher.dispose()
  }

  @Test func `a key that is neither watched nor requested leaves nothing but the cache`() {
    let (store, weakly) = { () -> (Store<String, Canary>, Weak) in
      var configuration = StoreConfiguration<Canary>()
      configuration.memoryCount = 1
      let store = Store<String, Canary>(.ofStream { _ in .just(Canary()) }, configuration: configuration)
      let canary = Canary()
      let weakly = Weak(canary)
      store.save(canary, for: "a")
      let stream = Recorder(store.stream("a", .cacheOnly))
      store.save(Canary(), for: "b")
      stream.dispose()
      return (store, weakly)
    }()
    #expect(weakly.canary == nil)
    #expect(store.statistics.count == 1)
    #expect(store.statistics.evictions == 1)
  }
}

final class Canary: Sendable {}

final class Weak: @unchecked Sendable {
  // Set once, before it is shared.
  private(set) weak var canary: Canary?

  init(_ canary: Canary) { self.canary = canary }
}
