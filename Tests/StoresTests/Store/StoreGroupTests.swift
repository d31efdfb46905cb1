import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

@Suite("closing stores, and groups of them")
struct StoreGroupTests {
  private struct Account: Hashable, Sendable {
    let user: Int
    let endpoint: String
  }

  let server = FakeServer<String, Int>()
  let scheduler = TestScheduler()

  private func group(
    idleTimeout: Duration? = .seconds(60), maximumCount: Int = 100
  ) -> StoreGroup<Account, String, Int> {
    StoreGroup(idleTimeout: idleTimeout, maximumCount: maximumCount, scheduler: scheduler) { _ in
      Store(.ofPartial(server.fetch))
    }
  }

  private func account(_ user: Int) -> Account { Account(user: user, endpoint: "e") }

  @Test func `a closed store completes its streams, cancels its requests, and keeps its data`() async throws {
    let truth = MemoryTruth<String, Int>()
    var configuration = StoreConfiguration<Int>()
    configuration.writing = .behind
    let store = Store<String, Int>(.ofPartial(server.fetch), storage: .source(truth), configuration: configuration)
    let stream = Recorder(store.stream("a", .cacheFirst))
    let (values, read) = (Recorder(store.values("a")), Recorder(store.get("b", .networkOnly)))
    await store.save(1, for: "a")
    await store.close()
    #expect(stream.isCompleted.value)
    #expect(values.isCompleted.value)
    #expect(values.take() == [1])
    #expect(read.error.value as? StoreError == .closed)
    #expect(server.requests.value.allSatisfy { $0.isCancelled.value })
    #expect(stream.brief() == ["- …", "1 memory …"])
    #expect(truth.keys() == ["a"])
    server[1].answer(2)
    await store.save(3, for: "c")
    #expect(truth.keys() == ["a"])
    #expect(store.peek("a") == nil)
    #expect(Recorder(store.get("a")).error.value as? StoreError == .closed)
    let late = Recorder(store.stream("a"))
    #expect(late.isCompleted.value)
    #expect(late.take().isEmpty)
    let change = Recorder(store.mutate(.of("a") { _ in 2 }, send: { .just(2) }))
    #expect(change.error.value as? StoreError == .closed)
    await store.close()
    try await store.signOut()
    #expect(truth.keys() == [])
  }

  @Test func `a stream completes after the snapshot that its subscriber is busy with`() async {
    let store = Store<String, Int>(.ofPartial(server.fetch))
    let snapshots = Mutable<[String]>([])
    let subscription = store.stream("a", .cacheOnly).subscribe(
      onNext: { snapshot in
        snapshots.update { $0.append(snapshot.brief) }
        if snapshot.value == 1 { store.perform { $0.signOut { _ in } } }
      }, onCompleted: { snapshots.update { $0.append("|") } })
    await store.save(1, for: "a")
    #expect(snapshots.value == ["-", "1 memory", "-", "|"])
    subscription.dispose()
  }

  @Test func `idle accounts are released, and those in use are found again`() throws {
    let group = group()
    weak var idle: Store<String, Int>?
    do { idle = try group.store(for: account(1)) }
    let used = try group.store(for: account(2))
    let watcher = Recorder(try group.store(for: account(3)).stream("a", .cacheOnly))
    #expect(Set(group.accounts) == [account(1), account(2), account(3)])
    scheduler.advance(by: .seconds(45))
    #expect(idle != nil)
    scheduler.advance(by: .seconds(30))
    #expect(idle == nil)
    #expect(Set(group.accounts) == [account(2), account(3)])
    #expect(try group.store(for: account(2)) === used)
    try group.store(for: account(3)).save(1, for: "a")
    #expect(watcher.brief() == ["-", "1 memory"])
    watcher.dispose()
    scheduler.advance(by: .seconds(600))
    #expect(group.accounts == [account(2)])
  }

  @Test func `an account that is asked for does not become idle`() throws {
    let group = group()
    weak var store: Store<String, Int>?
    do { store = try group.store(for: account(1)) }
    for _ in 0..<10 {
      scheduler.advance(by: .seconds(40))
      #expect(try group.store(for: account(1)) === store)
    }
  }

  @Test func `of too many accounts the one that was used longest ago is released`() throws {
    let group = group(idleTimeout: nil, maximumCount: 2)
    for user in [1, 2] { try group.store(for: account(user)).save(user, for: "a") }
    _ = try group.store(for: account(1))
    try group.store(for: account(3)).save(3, for: "a")
    #expect(Set(group.accounts) == [account(1), account(3)])
    #expect(group.statistics().count == 2)
    for user in 0..<1_000 { _ = try group.store(for: account(user)) }
    #expect(group.accounts.count == 2)
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `closing a group completes the streams of all its accounts`() async throws {
    let group = group()
    let streams = try (0..<3).map { Recorder(try group.store(for: account($0)).stream("a")) }
    await group.close()
    #expect(streams.allSatisfy { $0.isCompleted.value })
    #expect(group.accounts == [])
    let next = Recorder(try group.store(for: account(0)).stream("a"))
    #expect(!next.isCompleted.value)
  }

  @Test func `a group's type is inferred from its closure`() async throws {
    let group = StoreGroup { (account: String) in Store<Int, String> { key in "\(account) \(key)" } }
    #expect(try await group.store(for: "mei").cached(7).value == "mei 7")
  }

  @Test func `idle values leave the memory, and stay in the source of truth`() {
    let truth = MemoryTruth<String, Int>()
    var configuration = StoreConfiguration<Int>()
    configuration.clock = .scheduler(scheduler)
    configuration.idleTime = .seconds(40)
    let store = Store<String, Int>(.ofPartial(server.fetch), storage: .source(truth), configuration: configuration)
    for key in ["idle", "read", "watched"] { store.save(1, for: key) }
    let watcher = Recorder(store.stream("watched", .cacheOnly))
    for _ in 0..<5 {
      scheduler.advance(by: .seconds(10))
      #expect(Recorder(store.get("read", .cacheOnly)).brief() == ["1 memory"])
    }
    #expect(store.statistics.count == 1)
    #expect(store.statistics.evictions == 2)
    #expect(Recorder(store.get("idle", .cacheOnly)).brief() == ["1 disk"])
    #expect(Recorder(store.get("watched", .cacheOnly)).brief() == ["1 memory"])
    #expect(watcher.take().count == 1)
    watcher.dispose()
    scheduler.advance(by: .seconds(60))
    #expect(store.statistics.count == 0)
    #expect(scheduler.pendingCount == 0)
  }
}
