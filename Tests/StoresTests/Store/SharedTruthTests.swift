import HTTPClientCore
import StoreConformance
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

@Suite("asynchronous sources of truth")
struct SharedTruthTests {
  let shared = SharedTruth.Server()
  let network = FakeServer<String, String>()

  func makeStore(_ configuration: StoreConfiguration<String> = StoreConfiguration()) -> Store<String, String> {
    Store(
      .ofPartial { [network] key in network.fetch(key) }, storage: .async(SharedTruth(shared)),
      configuration: configuration)
  }

  @Test(arguments: StoreConformance.asyncCases)
  func `a dictionary conforms`(_ test: StoreConformance.AsyncCase) async throws {
    let servers = Locked<[String: SharedTruth.Server]>([:])
    try await test.check { partition in
      SharedTruth(
        servers.withLock { servers in
          if servers[partition] == nil { servers[partition] = SharedTruth.Server() }
          return servers[partition] ?? SharedTruth.Server()
        })
    }
  }

  @Test func `a source that reports no changes does not conform`() async {
    // Some wait for a report that does not come: all at once, each with a server of its own.
    let failures = await withTaskGroup(of: Bool.self) { group in
      for test in StoreConformance.asyncCases {
        group.addTask {
          let shared = SharedTruth.Server()
          do { try await test.check { _ in Silent(truth: SharedTruth(shared)) } } catch { return true }
          return false
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(failures > 1)
  }

  @Test func `what is requested because of an invalidation is not marked by it in the source`() async throws {
    let store = makeStore()
    await store.save("old", for: "k")
    await store.flush()
    let watch = store.stream("k", .cacheAndNetwork).subscribe(onNext: { _ in })
    defer { watch.dispose() }
    try await network.wait(forCount: 1)
    network[0].answer("1")
    try await shared.wait { $0["k"]?.value == "1" }
    await store.invalidate("k")
    try await network.wait(forCount: 2)
    try await shared.wait { $0["k"]?.isInvalidated == true }
    network[1].answer("2")
    try await shared.wait { $0["k"]?.value == "2" }
    #expect(shared.value("k")?.isInvalidated == false)
  }

  @Test func `a write is in memory at once, and shared after a flush`() async {
    let store = makeStore()
    await store.save("1", for: "k")
    #expect(store.peek("k")?.value == "1")
    await store.flush()
    #expect(shared.value("k")?.value == "1")
  }

  @Test func `what another process has written is read without a request`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("1", for: "k")
    await one.flush()
    let snapshot = try await other.get("k").value
    #expect(snapshot.value == "1")
    #expect(snapshot.source == .disk)
    #expect(network.count == 0)
  }

  @Test func `F1: watchers elsewhere get each write once and in order, with no request`() async throws {
    let (one, other) = (makeStore(), makeStore())
    let watcher = Watcher(other, "k")
    for number in 1...20 {
      await one.save("\(number)", for: "k")
      await one.flush()
      try await watcher.wait(for: "\(number)")
    }
    #expect(watcher.values == (1...20).map { "\($0)" })
    #expect(network.count == 0)
  }

  @Test func `a removal elsewhere removes the value, and an invalidation elsewhere makes it stale`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("1", for: "k")
    await one.flush()
    let watcher = Recorder(other.stream("k", .cacheOnly))
    let states = Monitor("")
    let watching = other.stream("k", .cacheOnly).subscribe(onNext: { snapshot in states.update { $0 = snapshot.brief } }
    )
    defer { watching.dispose() }
    try await states.wait { $0 == "1 disk" || $0 == "1 memory" }
    await one.invalidate("k")
    try await states.wait { $0 == "1 disk ~" }
    await one.remove("k")
    try await states.wait { $0 == "-" }
    withExtendedLifetime(watcher) {}
  }

  @Test func `an invalidation marks the shared value, not the older one in memory`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("1", for: "k")
    await one.flush()
    await other.save("2", for: "k")
    await other.flush()
    await one.invalidate("k")
    await one.flush()
    #expect(shared.value("k")?.value == "2")
    #expect(shared.value("k")?.isInvalidated == true)
  }

  @Test func `F2: a stalled source delays a read by its limit, and the network answers`() async throws {
    let time = TestScheduler()
    var configuration = StoreConfiguration<String>()
    configuration.clock = .scheduler(time)
    let store = makeStore(configuration)
    shared.stall()
    let read = Recorder(store.get("k"))
    #expect(network.count == 0)
    time.advance(by: .milliseconds(99))
    #expect(network.count == 0)
    time.advance(by: .milliseconds(1))
    try await network.wait(forCount: 1)
    network[0].answer("1")
    // Writing it is given up after the limit, too, which begins when the task does.
    while !read.isCompleted.value {
      time.advance(by: .milliseconds(100))
      await Task.yield()
    }
    #expect(read.brief() == ["1 network"])
    shared.resume()
  }

  @Test func `F2: a source that is away loses nothing: what was written meanwhile is shared once it is back`()
    async throws
  {
    let (one, other) = (makeStore(), makeStore())
    await one.save("old", for: "k")
    await one.flush()
    let watcher = Watcher(other, "k")
    try await watcher.wait(for: "old")
    shared.isAway = true
    await one.save("new", for: "k")
    await one.flush()
    #expect(one.peek("k")?.value == "new")
    shared.comeBack()
    try await watcher.wait(for: "new")
    #expect(one.peek("k")?.value == "new")
  }

  @Test func `F2: what a source that is away has not taken, is shared once it is back, without the store`() async throws
  {
    let time = TestScheduler()
    shared.isAway = true
    await saveAndRelease(time)
    shared.comeBack()
    time.advance(by: .seconds(60))
    try await shared.wait { $0["k"]?.value == "1" }
    // Nothing keeps what is left of the store any more.
    try await eventually { time.pendingCount == 0 }
  }

  @Test func `F2: a removal that a source that is away has not made, is made once it is back, without the store`()
    async throws
  {
    let time = TestScheduler()
    await saveAndRelease(time) { store in
      await store.flush()
      shared.isAway = true
      await store.remove("k")
    }
    shared.comeBack()
    time.advance(by: .seconds(60))
    try await shared.wait { $0["k"] == nil }
  }

  /// Saves a value in a store that is gone when this returns.
  private func saveAndRelease(
    _ time: TestScheduler, then body: (Store<String, String>) async -> Void = { _ in }
  ) async {
    var configuration = StoreConfiguration<String>()
    configuration.clock = .scheduler(time)
    let store = makeStore(configuration)
    await store.save("1", for: "k")
    await body(store)
    await store.flush()
    // The tasks that have tried to share it keep it, too, until they end.
    for _ in 0..<1_000 { await Task.yield() }
  }

  @Test func `after clear, what was on its way is not shown`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await other.save("old", for: "k")
    await other.flush()
    shared.stall()
    let read = Recorder(one.get("k", .cacheOnly))
    // Reported as late, and made nonetheless.
    await #expect(throws: RequestError.self) { try await one.clear() }
    shared.resume()
    try await shared.removals.wait(for: "the removal") { $0 == 1 }
    await one.flush()
    #expect(shared.value("k") == nil)
    #expect(one.peek("k") == nil)
    withExtendedLifetime(read) {}
  }

  @Test func `after sign-out, what was on its way is not shown, and nothing is left`() async throws {
    let store = makeStore()
    shared.stall()
    await store.save("1", for: "k")
    await #expect(throws: RequestError.self) { try await store.signOut() }
    shared.resume()
    // A flush waits for it no longer than the source may take.
    try await shared.removals.wait(for: "the removal") { $0 == 1 }
    await store.flush()
    #expect(shared.value("k") == nil)
  }

  @Test func `reads of a key share one load, and one that is disposed makes no request`() async throws {
    let store = makeStore()
    shared.stall()
    let reads = (0..<10).map { _ in Recorder(store.get("k")) }
    for read in reads { read.dispose() }
    shared.resume()
    _ = try? await store.get("k", .cacheOnly).value
    #expect(network.count == 0)
  }

  @Test func `an accepted change reaches the values that only the source has`() async throws {
    let (one, other) = (makeStore(), makeStore())
    for key in ["affected", "unaffected"] { await one.save(key, for: key) }
    await one.flush()
    let change = other.mutate(
      .ofAll(keyForResponse: { _ in "response" }) { key, value in key == "affected" ? value + "!" : nil },
      send: { .just("response") })
    _ = try await change.value
    try await shared.wait { $0["affected"]?.isInvalidated == true }
    #expect(shared.value("unaffected")?.isInvalidated == false)
  }

  @Test func `invalidating all values reaches those that only the source has`() async throws {
    let (one, other) = (makeStore(), makeStore())
    for key in ["1", "2", "3"] { await one.save(key, for: key) }
    await one.flush()
    await other.invalidateAll { $0 != "3" }
    try await shared.wait { $0["1"]?.isInvalidated == true && $0["2"]?.isInvalidated == true }
    #expect(shared.value("3")?.isInvalidated == false)
  }

  @Test func `a value that others have changed is stale while the source cannot say to what`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("old", for: "k")
    await one.flush()
    let states = Monitor("")
    let watching = other.stream("k", .cacheOnly).subscribe(onNext: { snapshot in states.update { $0 = snapshot.brief } }
    )
    defer { watching.dispose() }
    try await states.wait { $0.hasPrefix("old") }
    shared.isAway = true
    shared.report(.key("k"))
    try await states.wait { $0 == "old memory ~" }
  }

  @Test func `F1: so it is if they change it while the old value is being read, and it cannot be read again`()
    async throws
  {
    let one = makeStore()
    await one.save("old", for: "k")
    await one.flush()
    let store = Store<String, String>(
      .ofPartial { [network] key in network.fetch(key) },
      storage: .async(SharedTruth(shared, timeLimit: .seconds(60))))
    shared.readGate.hold()
    let read = Recorder(store.get("k", .cacheFirst))
    try await shared.readGate.held.wait { $0 == 1 }
    shared.isAway = true
    shared.report(.key("k"))
    try await eventually { store.state.withLock { $0.entries["k"]?.following.isRunning == false } }
    shared.isAway = false
    shared.readGate.release()
    try await network.wait(forCount: 1)
    network[0].answer("new")
    try await read.waitForCompletion()
    #expect(read.brief() == ["new network"])
  }

  /// Lets the server refuse the account to a store; returns what its watcher sees.
  private func refuse(_ store: Store<String, String>) async throws -> (Monitor<[String]>, any Disposable) {
    let seen = Monitor([String]())
    let watching = store.stream("k", .cacheAndNetwork).subscribe(onNext: { snapshot in
      seen.update { $0.append(snapshot.value ?? "-") }
    })
    try await network.wait(forCount: 1)
    network[0].fail(RequestError(.httpStatus, "", status: 401))
    try await seen.wait { $0.last == "-" }
    return (seen, watching)
  }

  @Test func `what others write does not show what a refusal has hidden`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("1", for: "k")
    let (seen, watching) = try await refuse(other)
    defer { watching.dispose() }
    let before = shared.reads.value
    await one.save("2", for: "k")
    try await shared.reads.wait { $0 > before }
    let fresh = Recorder(other.fresh("k"))
    try await network.wait(forCount: 2)
    network[1].answer("3")
    try await fresh.waitForCompletion()
    #expect(fresh.elements.value == ["3"])
    try await seen.wait { $0.last == "3" }
    #expect(!seen.value.contains("2"))
  }

  @Test func `S1: what others write is not shown when a refusal ends, though it is reported during that request`()
    async throws
  {
    let (one, other) = (makeStore(), makeStore())
    await one.save("1", for: "k")
    let (seen, watching) = try await refuse(other)
    defer { watching.dispose() }
    shared.readGate.hold()
    await one.save("2", for: "k")
    try await shared.readGate.held.wait { $0 == 1 }
    let fresh = Recorder(other.fresh("k"))
    try await network.wait(forCount: 2)
    shared.readGate.release()
    try await eventually { other.state.withLock { $0.entries["k"]?.cached?.value == "2" } }
    network[1].answer("3")
    try await fresh.waitForCompletion()
    try await seen.wait { $0.last == "3" }
    #expect(!seen.value.contains("2"))
    await other.flush()
    #expect(shared.value("k")?.value == "3")
  }

  @Test func `a response that a write elsewhere has overtaken does not replace it`() async throws {
    let (one, other) = (makeStore(), makeStore())
    let watcher = Watcher(one, "k")
    let read = Recorder(one.get("k", .networkOnly))
    try await network.wait(forCount: 1)
    await other.save("theirs", for: "k")
    try await watcher.wait(for: "theirs")
    network[0].answer("older")
    await one.flush()
    #expect(one.peek("k")?.value == "theirs")
    #expect(shared.value("k")?.value == "theirs")
    #expect(read.elements.value.map(\.value) == ["older"])
  }
}

/// The values that a watcher gets.
private final class Watcher: Sendable {
  private let seen = Monitor([String]())
  private let bag = DisposeBag()

  init(_ store: Store<String, String>, _ key: String) {
    store.values(key).subscribe(onNext: { [seen] value in seen.update { $0.append(value) } }).disposed(by: bag)
  }

  var values: [String] { seen.value }

  func wait(for value: String) async throws { _ = try await seen.wait { $0.last == value } }
}

private struct Silent: AsyncSourceOfTruth {
  let truth: SharedTruth

  func read(_ key: String) async throws -> StoredValue<String>? { try await truth.read(key) }
  func write(
    _ stored: StoredValue<String>, for key: String, isResponse: Bool
  ) async throws -> SourceWriteResult {
    try await truth.write(stored, for: key, isResponse: isResponse)
  }
  func invalidate(_ key: String, version: EntryVersion) async throws -> SourceWriteResult {
    try await truth.invalidate(key, version: version)
  }
  func remove(_ key: String, version: EntryVersion) async throws -> SourceWriteResult {
    try await truth.remove(key, version: version)
  }
  func removeAll(version: EntryVersion) async throws { try await truth.removeAll(version: version) }
  func keys() async throws -> [String] { try await truth.keys() }
}
