import Foundation
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

/// What a store over a source of truth keeps, and reads from it.
@Suite("a store over a source of truth")
struct StorageTests {
  let folder = TemporaryFolder()
  let server = FakeServer<String, String>()

  @Test func `a value that one process cached is read from disk by the next one, and then from memory`() throws {
    try folder.store(server).save("v", for: "k")
    let next = try folder.store(server)
    #expect(Recorder(next.get("k", .cacheFirst)).brief() == ["v disk"])
    #expect(Recorder(next.get("k", .cacheFirst)).brief() == ["v memory"])
    #expect(Recorder(try folder.store(server).stream("k", .cacheOnly)).brief() == ["v disk"])
    #expect(server.count == 0)
  }

  @Test func `the next process shows the cached value without a network`() throws {
    try folder.store(server).save("v", for: "k")
    let next = try folder.store(server)
    let get = Recorder(next.get("k", .networkFirst))
    let stream = Recorder(next.stream("k", .networkFirst))
    server[0].fail(RequestError(.cannotConnect, "Away."))
    #expect(get.brief() == ["v disk !"])
    #expect(stream.brief() == ["- …", "v disk !"])
  }

  @Test func `a value that memory had no room for is read from disk`() throws {
    let store = try folder.store(server) { $0.memoryCount = 2 }
    for index in 0..<5 { store.save("\(index)", for: "\(index)") }
    #expect(Recorder(store.get("0", .cacheOnly)).brief() == ["0 disk"])
    #expect(Recorder(store.get("4", .cacheOnly)).brief() == ["4 memory"])
  }

  @Test func `a read finds what is watched, and puts it back into memory`() throws {
    let store = try folder.store(server) { $0.memoryCount = 1 }
    store.save("a", for: "a")
    let watch = Recorder(store.stream("a", .cacheOnly))
    store.save("b", for: "b")
    let before = store.statistics
    for hits in 1...2 {
      #expect(Recorder(store.get("a", .cacheOnly)).brief() == ["a memory"])
      #expect(store.statistics.hits == before.hits + hits)
      #expect(store.statistics.misses == before.misses)
    }
    #expect(Recorder(store.get("b", .cacheOnly)).brief() == ["b disk"])
    #expect(watch.brief() == ["a memory"])
  }

  @Test func `memory is bounded by what values cost, wherever they come from`() async throws {
    let store = try folder.store(server) {
      $0.memoryCost = 10
      $0.cost = { $0.count }
    }
    await store.save("12345", for: "a")
    let get = Recorder(store.get("b", .networkOnly))
    server[0].answer("12345")
    try await get.waitForCompletion()
    #expect(store.statistics.cost == 10)
    await store.update("b") { $0 += "6" }
    #expect(store.statistics.cost == 6)
    #expect(store.statistics.evictions == 1)
    #expect(Recorder(store.get("a", .cacheOnly)).brief() == ["12345 disk"])
    #expect(store.statistics.cost == 5)
    #expect(store.peek("b") == nil)
  }

  @Test func `a value from disk is as old as when it was written, and expires by that`() async throws {
    let scheduler = TestScheduler()
    let open = {
      try folder.store(server) {
        $0.clock = .scheduler(scheduler)
        $0.freshness = Freshness(staleTime: .seconds(5), expireAfterWrite: .seconds(10))
      }
    }
    try await open().save("v", for: "k")
    scheduler.advance(by: .seconds(7))
    let snapshot = Recorder(try open().get("k", .cacheOnly)).take().first
    #expect(snapshot?.age == .seconds(7))
    #expect(snapshot?.isStale == true)
    scheduler.advance(by: .seconds(3))
    let last = try open()
    #expect(Recorder(last.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    await last.flush()
    #expect(folder.records == [])
  }

  @Test func `a change of all values takes no place in memory with those that it does not concern`() async throws {
    let store = try folder.store(server) { $0.memoryCount = 20 }
    for index in 10..<50 { await store.save("\(index)", for: "\(index)") }
    let change = Recorder(
      store.mutate(
        .ofAll(keyForResponse: { _ in "49" }) { key, value in key < "15" ? value + " changed" : nil },
        send: { .just("answer") }))
    try await change.waitForCompletion()
    for index in 10..<15 { #expect(store.peek("\(index)")?.value == "\(index) changed") }
    // Five had to go for them, and no others.
    for index in 35..<49 { #expect(store.peek("\(index)")?.value == "\(index)") }
    #expect(store.peek("49")?.value == "answer")
    #expect(Recorder(try folder.store(server).get("12", .cacheOnly)).brief() == ["12 changed disk"])
  }

  @Test func `an invalidation, a removal and a clear are kept`() async throws {
    let first = try folder.store(server)
    for key in ["a", "b"] { await first.save("v", for: key) }
    await first.invalidate("a")
    await first.remove("b")
    #expect(Recorder(try folder.store(server).get("a", .cacheOnly)).brief() == ["v disk ~"])
    #expect(Recorder(try folder.store(server).get("b", .cacheOnly)).take().isEmpty)
    try await first.clear()
    #expect(folder.records == [])
    #expect(Recorder(first.get("a", .cacheOnly)).take().isEmpty)
  }

  @Test func `a value that may not be cached, or is partial, is not written`() throws {
    let store = try folder.store(server) { $0.isCacheable = { $0 != "sorry" } }
    let first = Recorder(store.get("a", .networkOnly))
    server[0].answer("sorry")
    let second = Recorder(store.get("b", .networkOnly))
    server[1].answer("half", errors: [Failure()])
    #expect(first.brief() == ["sorry network"])
    #expect(second.brief() == ["half network !"])
    #expect(folder.records == [])
  }

  @Test func `G3: a partial response does not replace a complete one on disk`() throws {
    try folder.store(server).save("whole", for: "k")
    let next = try folder.store(server)
    let get = Recorder(next.get("k", .networkOnly))
    server[0].answer("half", errors: [Failure()])
    #expect(get.brief() == ["half network !"])
    #expect(Recorder(next.get("k", .cacheOnly)).take().first?.value == "whole")
    #expect(Recorder(try folder.store(server).get("k", .cacheOnly)).brief() == ["whole disk"])
  }

  @Test func `a partial response that is changed here is not written either`() throws {
    let store = try folder.store(server)
    let get = Recorder(store.get("k", .networkOnly))
    server[0].answer("half", errors: [Failure()])
    store.update("k") { $0 += " changed" }
    store.invalidate("k")
    #expect(store.peek("k")?.value == "half changed")
    #expect(get.isCompleted.value)
    #expect(folder.records == [])
  }

  @Test func `S1: a sign-out removes the partition, drops the late response, and shows nothing to the next user`()
    async throws
  {
    let group = StoreGroup<String, String, String> { [server, folder] partition in
      Store(.ofPartial(server.fetch), storage: .source(try DiskCache(folder: folder.url, partition: partition)))
    }
    let (mei, tom) = (try group.store(for: "mei"), try group.store(for: "tom"))
    await mei.save("mei's", for: "k")
    await tom.save("tom's", for: "k")
    let watch = Recorder(mei.stream("k", .cacheOnly))
    let late = Recorder(mei.get("k", .networkOnly))

    try await group.signOut("mei")
    #expect(server[0].isCancelled.value)
    server[0].answer("late")
    #expect(late.error.value as? StoreError == .signedOut)
    #expect(late.take().isEmpty)
    #expect(watch.brief().last == "-")
    #expect(folder.records.count == 1)
    #expect(Recorder(tom.get("k", .cacheOnly)).take().first?.value == "tom's")

    // The next sign-in finds nothing, and what somebody still holds of the old one gives nothing.
    let next = try group.store(for: "mei")
    #expect(Recorder(next.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    await mei.save("again", for: "k")
    #expect(Recorder(mei.get("k", .cacheFirst)).error.value as? StoreError == .signedOut)
    #expect(folder.records.count == 1)
  }

  @Test func `a partition that is closed keeps its data, and releases its store`() async throws {
    let group = StoreGroup<String, String, String> { [server, folder] partition in
      var configuration = StoreConfiguration<String>()
      configuration.writing = .behind
      return Store(
        .ofPartial(server.fetch), storage: .source(try DiskCache(folder: folder.url, partition: partition)),
        configuration: configuration)
    }
    weak var old: Store<String, String>?
    do {
      let store = try group.store(for: "mei")
      old = store
      await store.save("v", for: "k")
      await group.close("mei")
    }
    #expect(old == nil)
    #expect(folder.records.count == 1)
    #expect(Recorder(try group.store(for: "mei").get("k", .cacheOnly)).take().first?.value == "v")
    await group.close("tom")
    #expect(folder.records.count == 1)
  }

  @Test(arguments: [StoreConfiguration<String>.Writing.through, .behind])
  func `S1: an end that leaves something behind says so, and another call removes it`(
    writing: StoreConfiguration<String>.Writing
  ) async throws {
    let files = FaultyFileSystem()
    let group = StoreGroup<String, String, String> { [server, folder] partition in
      var configuration = StoreConfiguration<String>()
      configuration.writing = writing
      let cache = try DiskCache<String, String>(
        folder: folder.url, partition: partition, coder: .json, fileSystem: files)
      return Store(.ofPartial(server.fetch), storage: .source(cache), configuration: configuration)
    }
    let store = try group.store(for: "mei")
    await store.save("v", for: "k")
    await store.flush()
    files.keepFiles(endingWith: "")
    await #expect(throws: FileError.self) { try await store.clear() }
    await #expect(throws: FileError.self) { try await group.signOut("mei") }
    await #expect(throws: FileError.self) { try await group.signOut("mei") }
    await #expect(throws: FileError.self) { try await store.clear() }
    #expect(try group.store(for: "mei") === store)
    files.keepFiles(endingWith: nil)
    try await group.signOut("mei")
    #expect(folder.records == [])
    // What is there now is the next session's, and the old one does not touch it.
    let next = try group.store(for: "mei")
    await next.save("next", for: "k")
    try await store.signOut()
    #expect(Recorder(next.get("k", .cacheOnly)).take().first?.value == "next")
  }

  @Test func `S1: a store that cannot be opened is an error, and none without its source of truth`() async throws {
    let isBroken = Mutable(true)
    let group = StoreGroup<String, String, String> { [server, folder] partition in
      if isBroken.value { throw Failure() }
      return Store(.ofPartial(server.fetch), storage: .source(try DiskCache(folder: folder.url, partition: partition)))
    }
    #expect(throws: Failure.self) { try group.store(for: "mei") }
    await #expect(throws: Failure.self) { try await group.signOut("mei") }
    isBroken.update { $0 = false }
    try await group.store(for: "mei").save("v", for: "k")
    #expect(folder.records.count == 1)
    try await group.signOut("mei")
    #expect(folder.records == [])
  }
}

extension TemporaryFolder {
  /// A store over a disk cache in this folder.
  func store(
    _ server: FakeServer<String, String>, _ change: (inout StoreConfiguration<String>) -> Void = { _ in }
  ) throws -> Store<String, String> {
    var configuration = StoreConfiguration<String>()
    change(&configuration)
    return Store(.ofPartial(server.fetch), storage: .source(try DiskCache(folder: url)), configuration: configuration)
  }
}
