import Dispatch
import Foundation
import Repository
import Streams
import StreamsTesting
import TestSupport
import Testing

@Suite("a store over a source of truth")
struct StorageTests {
  let folder = TemporaryFolder()
  let server = FakeServer<String, String>()

  func store(_ change: (inout StoreConfiguration<String>) -> Void = { _ in }) throws -> Store<String, String> {
    var configuration = StoreConfiguration<String>()
    change(&configuration)
    return Store(
      partialFetch: server.fetch, configuration: configuration, sourceOfTruth: try DiskCache(folder: folder.url))
  }

  @Test func `what one process kept, the next one reads from disk, and then from memory`() throws {
    try store().save("v", for: "k")
    let next = try store()
    #expect(Recorder(next.get("k", .cacheFirst)).brief() == ["v disk"])
    #expect(Recorder(next.get("k", .cacheFirst)).brief() == ["v memory"])
    #expect(Recorder(try store().stream("k", .cacheOnly)).brief() == ["v disk"])
    #expect(server.count == 0)
  }

  @Test func `without a network the next process shows what was kept`() throws {
    try store().save("v", for: "k")
    let next = try store()
    let get = Recorder(next.get("k", .networkFirst))
    let stream = Recorder(next.stream("k", .networkFirst))
    server[0].fail()
    #expect(get.brief() == ["v disk !"] && stream.brief() == ["- …", "v disk !"])
  }

  @Test func `what memory had no room for is read from disk`() throws {
    let store = try store { $0.memoryCount = 2 }
    for index in 0..<5 { store.save("\(index)", for: "\(index)") }
    #expect(Recorder(store.get("0", .cacheOnly)).brief() == ["0 disk"])
    #expect(Recorder(store.get("4", .cacheOnly)).brief() == ["4 memory"])
  }

  @Test func `memory is bounded by what values cost, wherever they come from`() throws {
    let store = try store {
      $0.memoryCost = 10
      $0.cost = { $0.count }
    }
    store.save("12345", for: "a")
    let get = Recorder(store.get("b", .networkOnly))
    server[0].answer("12345")
    #expect(get.isCompleted.value && store.statistics.cost == 10)
    store.update("b") { $0 += "6" }
    #expect(store.statistics.cost == 6 && store.statistics.evictions == 1)
    #expect(Recorder(store.get("a", .cacheOnly)).brief() == ["12345 disk"])
    #expect(store.statistics.cost == 5 && store.peek("b") == nil)
  }

  @Test func `what comes from disk is as old as when it was written, and expires by that`() throws {
    let scheduler = VirtualScheduler()
    let open = {
      try store {
        $0.clock = .scheduler(scheduler)
        $0.freshness = Freshness(staleTime: .seconds(5), expireAfterWrite: .seconds(10))
      }
    }
    try open().save("v", for: "k")
    scheduler.advance(by: .seconds(7))
    let snapshot = Recorder(try open().get("k", .cacheOnly)).take().first
    #expect(snapshot?.age == .seconds(7) && snapshot?.isStale == true)
    scheduler.advance(by: .seconds(3))
    #expect(Recorder(try open().get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    #expect(folder.records == [])
  }

  @Test func `a change of all values takes no place in memory with those that it does not concern`() throws {
    let store = try store { $0.memoryCount = 20 }
    for index in 10..<50 { store.save("\(index)", for: "\(index)") }
    let change = Recorder(
      store.mutateAll(
        optimistic: { key, value in key < "15" ? value + " changed" : nil }, send: { .just("answer") },
        keyOfAnswer: { _ in "49" }))
    #expect(change.isCompleted.value)
    for index in 10..<15 { #expect(store.peek("\(index)")?.value == "\(index) changed") }
    // Five had to go for them, and no others.
    for index in 35..<49 { #expect(store.peek("\(index)")?.value == "\(index)") }
    #expect(store.peek("49")?.value == "answer")
    #expect(Recorder(try self.store().get("12", .cacheOnly)).brief() == ["12 changed disk"])
  }

  @Test func `a change of all values is made in what waits to be written, too`() async {
    let truth = GatedTruth()
    var configuration = StoreConfiguration<String>()
    configuration.writing = .behind
    configuration.memoryCount = 1
    let store = Store(partialFetch: server.fetch, configuration: configuration, sourceOfTruth: truth)
    for key in ["a", "b", "c"] { store.save(key, for: key) }
    store.remove("b")
    let change = Recorder(
      store.mutateAll(optimistic: { $1 + "!" }, send: { .just("answer") }, keyOfAnswer: { _ in "c" }))
    truth.gate.signal()
    await store.flush()
    #expect(change.isCompleted.value)
    #expect(["a", "b", "c"].map { truth.read($0)?.value } == ["a!", nil, "answer"])
  }

  @Test func `an invalidation, a removal and a clear are kept`() throws {
    let first = try store()
    for key in ["a", "b"] { first.save("v", for: key) }
    first.invalidate("a")
    first.remove("b")
    #expect(Recorder(try store().get("a", .cacheOnly)).brief() == ["v disk ~"])
    #expect(Recorder(try store().get("b", .cacheOnly)).take().isEmpty)
    first.clear()
    #expect(folder.records == [])
    #expect(Recorder(first.get("a", .cacheOnly)).take().isEmpty)
  }

  @Test func `what may not be cached, and what is partial, is not written`() throws {
    let store = try store { $0.isCacheable = { $0 != "sorry" } }
    let first = Recorder(store.get("a", .networkOnly))
    server[0].answer("sorry")
    let second = Recorder(store.get("b", .networkOnly))
    server[1].answer("half", errors: [Failure()])
    #expect(first.brief() == ["sorry network"] && second.brief() == ["half network !"])
    #expect(folder.records == [])
  }

  @Test func `a partial answer does not replace a complete one on disk`() throws {
    try store().save("whole", for: "k")
    let next = try store()
    let get = Recorder(next.get("k", .networkOnly))
    server[0].answer("half", errors: [Failure()])
    #expect(get.brief() == ["half network !"])
    #expect(Recorder(next.get("k", .cacheOnly)).take().first?.value == "whole")
    #expect(Recorder(try store().get("k", .cacheOnly)).brief() == ["whole disk"])
  }

  @Test func `a partial answer that is changed here is not written either`() throws {
    let store = try store()
    let get = Recorder(store.get("k", .networkOnly))
    server[0].answer("half", errors: [Failure()])
    store.update("k") { $0 += " changed" }
    store.invalidate("k")
    #expect(store.peek("k")?.value == "half changed" && get.isCompleted.value)
    #expect(folder.records == [])
  }

  @Test func `D8, S1: written behind too, a clear and a sign-out return when the files are gone`() throws {
    let store = try store { $0.writing = .behind }
    for end in [store.clear, store.close] {
      for index in 0..<100 { store.save("v", for: "\(index)") }
      end()
      #expect(folder.records == [])
    }
    // What is on disk now is the next session's, and the old one does not touch it.
    try self.store().save("next", for: "k")
    store.clear()
    store.remove("k")
    #expect(folder.records.count == 1)
  }

  @Test func `who holds a lock of its own is not waited for by the source of truth`() throws {
    let store = try store()
    let (inside, outside) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let subscription = store.get("k", .networkOnly).subscribe(onNext: { _ in
      // As if another thread held a lock that this callback takes, and wrote meanwhile.
      inside.signal()
      #expect(outside.wait(timeout: .now() + 30) == .success)
    })
    Thread.detachNewThread {
      inside.wait()
      store.save("other", for: "l")
      outside.signal()
    }
    server[0].answer("v")
    #expect(folder.records.count == 2)
    subscription.dispose()
  }

  @Test func `written through, a value is on disk before the one who asked is answered`() throws {
    let store = try store()
    let found = Mutable<[String]>([])
    let subscription = store.get("k", .networkOnly).subscribe(onNext: { [folder] _ in
      found.update { $0 = folder.records }
    })
    server[0].answer("v")
    #expect(found.value.count == 1)
    subscription.dispose()
  }

  @Test func `written through, what cannot be written fails the request; the live streams show it`() {
    let store = Store<String, String>(partialFetch: server.fetch, sourceOfTruth: Broken())
    let watch = Recorder(store.stream("k", .cacheOnly))
    let get = Recorder(store.get("k", .networkOnly))
    server[0].answer("v")
    #expect(get.error.value is Failure && watch.brief().last == "v network")
  }

  @Test func `written behind, a value is on disk after a flush, and is read meanwhile`() async throws {
    let store = try store {
      $0.writing = .behind
      $0.memoryCount = 1
    }
    for index in 0..<100 {
      store.save("\(index)", for: "\(index % 10)")
      let earlier = max(0, index - 3)
      #expect(Recorder(store.get("\(earlier % 10)", .cacheOnly)).take().first?.value == "\(earlier)")
    }
    await store.flush()
    #expect(folder.records.count == 10)
    #expect(Recorder(try self.store().get("7", .cacheOnly)).brief() == ["97 disk"])
  }

  @Test(arguments: [StoreConfiguration<Int>.Writing.through, .behind])
  func `after a race of reads and writes, memory, watchers and the source of truth agree`(
    writing: StoreConfiguration<Int>.Writing
  ) async {
    for round in 0..<TestScale.count(20, long: 500) {
      let truth = MemoryTruth<Int, Int>()
      var configuration = StoreConfiguration<Int>()
      configuration.writing = writing
      configuration.memoryCount = 2
      let store = Store(configuration: configuration, sourceOfTruth: truth) { key in .just(key * 1_000) }
      let watchers = (0..<4).map { Recorder(store.stream($0, .cacheOnly)) }
      race(6) { thread in
        var random = SplitMix(seed: UInt64(round * 6 + thread))
        for value in 0..<50 {
          let key = Int.random(in: 0..<4, using: &random)
          switch Int.random(in: 0..<10, using: &random) {
          case 0: store.remove(key)
          case 1: store.clear()
          case 2: store.invalidate(key)
          case 3: store.update(key) { $0 += 1 }
          case 4: Recorder(store.get(key, .networkOnly)).dispose()
          case 5: Recorder(store.mutate(key, optimistic: { _ in -1 }, send: { .just(value) })).dispose()
          case 6, 7: Recorder(store.get(key, .cacheFirst)).dispose()
          default: store.save(thread * 100 + value, for: key)
          }
        }
      }
      await store.flush()
      for (key, watcher) in watchers.enumerated() {
        let kept = Recorder(store.get(key, .cacheOnly)).take().first?.value
        #expect(truth.read(key)?.value == kept && watcher.take().last?.value == kept, "round \(round), key \(key)")
      }
    }
  }

  @Test func `a disk that fails is told of, and reads go on`() async throws {
    let errors = Mutable<[String]>([])
    var configuration = StoreConfiguration<String>()
    configuration.writing = .behind
    configuration.onStorageError = { error in errors.update { $0.append("\(error)") } }
    let store = Store<String, String>(
      partialFetch: server.fetch, configuration: configuration, sourceOfTruth: Broken())
    let get = Recorder(store.get("k", .cacheFirst))
    server[0].answer("v")
    #expect(get.brief() == ["v network"])
    #expect(Recorder(store.get("k", .cacheFirst)).brief() == ["v memory"])
    await store.flush()
    #expect(errors.value == ["failure", "failure"])
  }

  @Test func `S1: a sign-out removes the partition, drops the late answer, and lets nobody else see anything`() throws {
    let group = StoreGroup<String, String> { [server, folder] partition in
      let cache = try? DiskCache<String, String>(folder: folder.url, partition: partition)
      return Store(partialFetch: server.fetch, sourceOfTruth: cache)
    }
    let mei = group["mei"]
    mei.save("mei's", for: "k")
    group["tom"].save("tom's", for: "k")
    let watch = Recorder(mei.stream("k", .cacheOnly))
    let late = Recorder(mei.get("k", .networkOnly))

    group.signOut("mei")
    #expect(server[0].isCancelled.value)
    server[0].answer("late")
    #expect(late.error.value as? StoreError == .closed && late.take().isEmpty)
    #expect(watch.brief().last == "-")
    #expect(folder.records.count == 1)
    #expect(Recorder(group["tom"].get("k", .cacheOnly)).take().first?.value == "tom's")

    // The next sign-in finds nothing, and what somebody still holds of the old one gives nothing.
    #expect(Recorder(group["mei"].get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    mei.save("again", for: "k")
    #expect(Recorder(mei.get("k", .cacheFirst)).error.value as? StoreError == .closed)
    #expect(folder.records.count == 1)
  }
}

/// A source of truth whose first write waits for the gate.
private final class GatedTruth: SourceOfTruth {
  let gate = DispatchSemaphore(value: 0)
  private let truth = MemoryTruth<String, String>()

  func read(_ key: String) -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) {
    gate.wait()
    truth.write(stored, for: key)
    gate.signal()
  }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}

private struct Broken: SourceOfTruth {
  func read(_ key: String) throws -> StoredValue<String>? { throw Failure() }
  func write(_ stored: StoredValue<String>, for key: String) throws { throw Failure() }
  func remove(_ key: String) throws { throw Failure() }
  func removeAll() throws { throw Failure() }
  func keys() throws -> [String] { throw Failure() }
}
