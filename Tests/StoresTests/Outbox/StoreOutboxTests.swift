import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import Testing

@testable import Stores

/// A store of texts by key, over which the mutations of an outbox are laid: each adds its text to every value that has
/// the text's first letter.
private struct World {
  let server: OutboxServer
  let fetches = FakeServer<String, String>()
  let store: Store<String, String>
  let outbox: Outbox<String, String>

  init(_ folder: TemporaryFolder, _ server: OutboxServer, truth: DiskCache<String, String>? = nil) throws {
    let fetches = fetches
    self.server = server
    outbox = try folder.outbox(server)
    store = Store(.ofPartial { fetches.fetch($0) }, storage: truth.map { .source($0) } ?? .memory)
    store.show(outbox) { mutation in
      .ofAll(keyForResponse: { String($0.dropFirst(4).prefix(1)) }) { key, value in
        mutation.hasPrefix(key) ? "\(value)+\(mutation)" : nil
      }
    }
  }
}

@Suite struct StoreOutboxTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  @Test func `a waiting change is shown over what is read, until it is sent`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    await world.store.save("B", for: "b")
    let (a, b) = (Recorder(world.store.stream("a", .cacheOnly)), Recorder(world.store.stream("b", .cacheOnly)))
    server.set(.isAway)
    #expect(await world.outbox.outcome("a1") == "queued: cannot connect")
    #expect(a.brief() == ["A memory", "A+a1 optimistic"])
    let fetched = Recorder(world.store.get("a", .networkOnly))
    world.fetches[0].answer("AA")
    #expect(fetched.brief() == ["AA+a1 optimistic"])
    server.set(.answers)
    await world.outbox.flush()
    #expect(a.take().last?.brief == "did a1 memory")
    #expect(b.brief() == ["B memory"])
  }

  @Test func `what a refusal of the account has hidden shows again when the entry is sent`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    await world.store.save("B", for: "b")
    let b = Recorder(world.store.stream("b", .cacheOnly))
    server.set(.fails(RequestError(.httpStatus, "Who?", status: 401)))
    _ = await world.outbox.outcome("a1")
    await world.outbox.flush()
    #expect(b.take().last?.value == nil)
    server.set(.answers)
    #expect(await world.outbox.flush().sent.count == 1)
    #expect(b.take().last?.brief == "B memory")
    #expect(world.store.peek("a")?.brief == "did a1 memory")
  }

  @Test func `a response that may lack what was written since the change was made is out of date`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    server.set(.isAway)
    #expect(await world.outbox.outcome("a1") == "queued: cannot connect")
    await world.store.update("a") { $0 += " edited" }
    let watch = Recorder(world.store.stream("a", .cacheFirst))
    _ = watch.take()
    server.set(.answers)
    await world.outbox.flush()
    let last = try #require(watch.take().last)
    #expect(last.value == "did a1")
    #expect(last.isStale)
    #expect(last.isFetching)
    world.fetches[0].answer("A edited and did a1")
    #expect(watch.brief() == ["A edited and did a1 network"])
    // What was requested since is older than the answer, and no write.
    server.set(.isAway)
    _ = await world.outbox.outcome("a2")
    _ = Recorder(world.store.get("a", .networkOnly))
    world.fetches[1].answer("A")
    server.set(.answers)
    await world.outbox.flush()
    #expect(watch.take().last?.brief == "did a2 memory")
  }

  @Test func `a response is shown before its caller gets it, and no state mixes the two`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    let watcher = Recorder(world.store.stream("a", .cacheOnly))
    #expect(await world.outbox.outcome("a1") == "did a1")
    #expect(watcher.brief() == ["A memory", "A+a1 optimistic", "did a1 memory"])
  }

  @Test func `a refused change is no longer shown, whether its caller waits or not`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    let watcher = Recorder(world.store.stream("a", .cacheOnly))
    server.set(.fails(RequestError(.graphQL, "No.")))
    #expect(await world.outbox.outcome("a1") == "GraphQL")
    #expect(watcher.brief() == ["A memory", "A+a1 optimistic", "A memory"])
    server.set(.isAway)
    _ = await world.outbox.outcome("a2")
    server.set(.fails(RequestError(.graphQL, "No.")))
    await world.outbox.flush()
    #expect(watcher.brief() == ["A+a2 optimistic", "A memory"])
  }

  @Test func `O6: the changes that wait end in any order`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    server.set(.isAway)
    for mutation in ["a1", "a2", "a3"] { _ = await world.outbox.outcome(mutation) }
    let watcher = Recorder(world.store.stream("a", .cacheOnly))
    let entries = try world.outbox.entries()
    for place in [1, 0, 2] {
      try world.outbox.discard(entries[place])
      await world.outbox.added()
    }
    #expect(
      watcher.brief() == [
        "A+a1+a2+a3 optimistic", "A+a1+a3 optimistic", "A+a3 optimistic", "A memory",
      ])
  }

  @Test func `a waiting change is shown in later processes, too`() async throws {
    let cache = try DiskCache<String, String>(folder: folder.url.appending(path: "cache"))
    server.set(.isAway)
    do {
      let world = try World(folder, server, truth: cache)
      await world.store.save("A", for: "a")
      _ = await world.outbox.outcome("a1")
    }
    let later = try World(folder, server, truth: DiskCache(folder: folder.url.appending(path: "cache")))
    let read = Recorder(later.store.get("a", .cacheOnly))
    #expect(read.brief() == ["A+a1 optimistic"])
    server.set(.answers)
    await later.outbox.flush()
    await later.store.flush()
    #expect(try cache.read("a")?.value == "did a1")
  }

  @Test func `a change that another process has sent is no longer shown after the next look`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    server.set(.isAway)
    _ = await world.outbox.outcome("a1")
    server.set(.answers)
    try await folder.outbox(server).flush()
    let watcher = Recorder(world.store.stream("a", .cacheOnly))
    await world.outbox.flush()
    #expect(watcher.brief() == ["A+a1 optimistic", "A memory"])
  }

  @Test func `disposing ends the showing`() async throws {
    let store = Store<String, String>(.ofPartial { _ in .never() })
    let outbox = try folder.outbox(server)
    let showing = store.show(outbox) { mutation in
      .ofAll(keyForResponse: { _ in "" }) { _, value in value + mutation }
    }
    await store.save("A", for: "a")
    server.set(.isAway)
    _ = await outbox.outcome("1")
    let watcher = Recorder(store.stream("a", .cacheOnly))
    showing.dispose()
    _ = await outbox.outcome("2")
    #expect(watcher.brief() == ["A1 optimistic", "A memory"])
  }

  @Test func `disposing ends the showing of what is only just put in, too`() async throws {
    let store = Store<String, String>(.ofPartial { _ in .never() })
    let outbox = try folder.outbox(server)
    let showing = Mutable<(any Disposable)?>(nil)
    await store.save("A", for: "a")
    let watcher = Recorder(store.stream("a", .cacheOnly))
    let disposable = store.show(outbox) { mutation in
      .ofAll(keyForResponse: { _ in "" }) { _, value in
        showing.value?.dispose()
        return value + mutation
      }
    }
    showing.update { $0 = disposable }
    server.set(.isAway)
    _ = await outbox.outcome("1")
    #expect(watcher.brief().last == "A memory")
  }

  @Test func `a store keeps an outbox that it shows, until the outbox is closed`() async throws {
    let store = Store<String, String>(.ofPartial(FakeServer<String, String>().fetch))
    await store.save("A", for: "a")
    server.set(.isAway)
    weak var shown: Outbox<String, String>?
    do {
      let outbox = try folder.outbox(server)
      shown = outbox
      store.show(outbox) { change in .ofAll { _, value in "\(value)+\(change)" } }
      #expect(await outbox.outcome("a1") == "queued: cannot connect")
      await outbox.lastTurn()
    }
    #expect(store.peek("a")?.value == "A+a1")
    #expect(shown != nil)
    await shown?.close()
    #expect(store.peek("a")?.value == "A")
    let deadline = ContinuousClock.now + .seconds(10)
    while shown != nil, .now < deadline { await Task.yield() }
    #expect(shown == nil)
  }

  @Test func `signing the outbox out ends the showing, too`() async throws {
    let world = try World(folder, server)
    await world.store.save("A", for: "a")
    server.set(.isAway)
    _ = await world.outbox.outcome("a1")
    let watcher = Recorder(world.store.stream("a", .cacheOnly))
    try await world.outbox.signOut()
    #expect(watcher.brief() == ["A+a1 optimistic", "A memory"])
  }

  @Test func `an unreferenced outbox and store are released, also while a mutation waits`() async throws {
    server.set(.isAway)
    weak var store: Store<String, String>?
    weak var outbox: Outbox<String, String>?
    let watcher: Recorder<OutboxChange<String, String>>
    do {
      let world = try World(folder, server)
      (store, outbox) = (world.store, world.outbox)
      await world.store.save("A", for: "a")
      watcher = Recorder(world.outbox.changes)
      _ = await world.outbox.outcome("a1")
      await world.outbox.flush()
    }
    let deadline = ContinuousClock.now + .seconds(10)
    while outbox != nil || store != nil, .now < deadline { await Task.yield() }
    #expect(outbox == nil)
    #expect(store == nil)
    try await watcher.waitForCompletion()
  }

  @Test func `an unreferenced store is released, though a mutation waits in an outbox that stays`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a1")
    weak var store: Store<String, String>?
    weak var changed: Mutable<Int>?
    do {
      let (dropped, count) = (Store<String, String>(.ofPartial { _ in .never() }), Mutable(0))
      (store, changed) = (dropped, count)
      await dropped.save("A", for: "a")
      dropped.show(outbox) { mutation in
        .ofAll(keyForResponse: { $0 }) { _, value in
          count.update { $0 += 1 }
          return value + mutation
        }
      }
      #expect(dropped.peek("a")?.value == "Aa1")
      #expect(count.value > 0)
    }
    #expect(store == nil)
    #expect(changed == nil, "The outbox still tells one who is gone")
    server.set(.answers)
    #expect(await outbox.flush().sent.count == 1)
  }

  @Test func `a local write that was forgotten while a change waited counts as one that its response may lack`()
    async throws
  {
    let world = try World(folder, server)
    server.set(.isAway)
    _ = await world.outbox.outcome("a1")
    await world.store.save("edited", for: "a")
    for number in 0..<70_000 { await world.store.save("v", for: "\(number)") }
    server.set(.answers)
    await world.outbox.flush()
    #expect(world.store.peek("a")?.brief == "did a1 memory ~")
  }

  @Test func `a waiting change makes no memory grow, whatever is written meanwhile`() async throws {
    server.set(.isAway)
    let world = try World(folder, server)
    _ = await world.outbox.outcome("a1")
    let change = Recorder(world.store.mutate(.of("b") { _ in "B" }, send: { .never() }))
    for number in 0..<100 { await world.store.save("v", for: "\(number)") }
    await world.store.save("v", for: "b")
    #expect(world.store.perform { $0.writes.count == 1 && $0.writes["b"].writtenOrRequestedAt > 0 })
    change.dispose()
    #expect(world.store.perform { $0.writes.isEmpty })
  }
}
