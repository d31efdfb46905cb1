import Foundation
import GraphQLClient
import Stores
import StoresTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

/// What a reader that never returns from its result costs the others, and what a watcher costs a change in several steps.
@Suite(.timeLimit(.minutes(1))) struct StalledReaderTests {
  private let network = FakeServer<String, String>()
  private let truth = MemoryTruth<String, String>()
  private let gate = DispatchSemaphore(value: 0)

  private func store() -> Store<String, String> { Store(.ofPartial(network.fetch), storage: .source(truth)) }

  /// Waits until the second request has begun, and for what another reader gets of it.
  private func joinNextRequest(of store: Store<String, String>) async throws {
    try await network.wait(forCount: 2)
    let other = Recorder(store.get("k", .networkOnly))
    network[1].answer("w")
    try await other.waitForCompletion()
  }

  @Test(arguments: [true, false]) func `E1: a reader that stalls stops no other one`(isSuccess: Bool) async throws {
    let store = store()
    let stalled = store.get("k", .networkOnly).subscribe(onNext: { _ in gate.wait() }, onError: { _ in gate.wait() })
    let seen = Monitor(false)
    let other = store.get("k", .networkOnly).subscribe(
      onNext: { _ in seen.update { $0 = true } }, onError: { _ in seen.update { $0 = true } })
    Thread.detachNewThread { [network] in if isSuccess { network[0].answer("v") } else { network[0].fail() } }
    try await seen.wait { $0 }
    gate.signal()
    for reading in [stalled, other] { reading.dispose() }
  }

  @Test(arguments: [false, true])
  func `E1: a reader that stalls does not keep the next request from others that have joined it`(
    hasTruth: Bool
  ) async throws {
    let store = hasTruth ? store() : Store(.ofPartial(network.fetch))
    let watch = store.stream("k", .cacheAndNetwork).subscribe(onNext: { _ in })
    let stalled = store.get("k", .networkOnly).subscribe(onNext: { _ in gate.wait() })
    await store.invalidate("k")
    Thread.detachNewThread { [network] in network[0].answer("v") }
    try await joinNextRequest(of: store)
    gate.signal()
    for subscription in [watch, stalled] { subscription.dispose() }
  }

  @Test(arguments: [false, true])
  func `E1: an observer of events that stalls does not keep the request of a gap from others that have joined it`(
    hasTruth: Bool
  ) async throws {
    let store = hasTruth ? store() : Store(.ofPartial(network.fetch))
    let events = PublishSubject<LiveEvent<String>>()
    let watch = store.stream("k", .cacheAndNetwork).subscribe(onNext: { _ in })
    network[0].answer("v")
    let stalled = store.follow("k", events.asObservable()) { live, _ in live }
      .subscribe(onNext: { _ in gate.wait() })
    Thread.detachNewThread { events.onNext(.reconnected) }
    try await joinNextRequest(of: store)
    gate.signal()
    for subscription in [watch, stalled] { subscription.dispose() }
  }

  @Test func `E1: a reader that stalls does not keep its response from being written behind`() async throws {
    var configuration = StoreConfiguration<String>()
    configuration.writing = .behind
    let store = Store(.ofPartial(network.fetch), storage: .source(truth), configuration: configuration)
    let stalled = store.get("k", .networkOnly).subscribe(onNext: { _ in gate.wait() })
    Thread.detachNewThread { [network] in network[0].answer("v") }
    try await eventually(within: .seconds(20)) { truth.read("k")?.value == "v" }
    gate.signal()
    stalled.dispose()
  }

  @Test func `E1: a reader that stalls does not keep its response from an asynchronous source of truth`() async throws {
    let shared = SharedTruth.Server()
    var configuration = StoreConfiguration<String>()
    configuration.writing = .behind
    let store = Store(.ofPartial(network.fetch), storage: .async(SharedTruth(shared)), configuration: configuration)
    let stalled = store.get("k", .networkOnly).subscribe(onNext: { _ in gate.wait() })
    Thread.detachNewThread { [network] in network[0].answer("v") }
    try await eventually(within: .seconds(20)) { shared.value("k")?.value == "v" }
    gate.signal()
    stalled.dispose()
  }

  @Test func `S1: a reader that stalls does not keep a sign-out from removing everything`() async throws {
    let store = store()
    await store.save("secret", for: "k")
    let stalled = store.get("other", .networkOnly).subscribe(onError: { _ in gate.wait() })
    try await store.signOut()
    #expect(truth.read("k") == nil)
    gate.signal()
    stalled.dispose()
  }

  @Test(arguments: AwaitedCall.all) func `E1: a watcher that stalls keeps no call that is awaited`(call: AwaitedCall)
    async throws
  {
    let store = store()
    await store.save("v", for: "k")
    let isFirst = Mutable(true)
    let stalled = store.stream("k", .cacheOnly).subscribe(
      onNext: { _ in if !isFirst.update({ exchange(&$0, with: false) }) { gate.wait() } },
      onCompleted: { gate.wait() })
    try await call.make(store)
    gate.signal()
    gate.signal()
    stalled.dispose()
  }

  @Test func `E1: a watcher that stalls when it is first called keeps no request from others`() async throws {
    let (store, isOver) = (store(), Latch())
    Thread.detachNewThread { [gate] in
      store.stream("k", .cacheFirst).subscribe(onNext: { _ in gate.wait() }).dispose()
      isOver.open()
    }
    try await network.wait(forCount: 1)
    let other = Recorder(store.get("k", .networkOnly))
    network[0].answer("v")
    try await other.waitForCompletion()
    for _ in 0..<2 { gate.signal() }
    try await isOver.wait()
  }

  @Test func `E1: a watcher that stalls at what a fetcher answers at once does not keep a change of all`() async throws
  {
    let store = Store<String, String>(.ofStream { _ in .just("n") })
    await store.save("v", for: "k")
    let stalled = store.stream("k", .cacheFirst).subscribe(onNext: { if $0.value == "n" { gate.wait() } })
    await store.invalidateAll()
    gate.signal()
    stalled.dispose()
  }

  @Test func `E1: a watcher that stalls at a failure that comes at once does not keep an invalidation from the source`()
    async throws
  {
    let store = Store<String, String>(.ofStream { _ in .error(Failure()) }, storage: .source(truth))
    await store.save("v", for: "k")
    let stalled = store.stream("k", .cacheFirst).subscribe(onNext: { if !$0.errors.isEmpty { gate.wait() } })
    let invalidation = Task { await store.invalidate("k") }
    try await eventually { truth.read("k")?.isInvalidated == true }
    gate.signal()
    await invalidation.value
    stalled.dispose()
  }

  @Test func `E3: what is saved on a thread is written when the call returns, though a watcher has taken its time`() {
    let isBegun = DispatchSemaphore(value: 0)
    let slow = SlowTruth { isBegun.signal() }
    let store = Store<String, String>(.ofStream { _ in .never() }, storage: .source(slow))
    let watcher = store.stream("k", .cacheOnly).subscribe(onNext: { if $0.value == "v" { isBegun.wait() } })
    store.save("v", for: "k")
    #expect(slow.read("k")?.value == "v")
    watcher.dispose()
  }

  @Test func `E1: readers that stall at what is written to files keep no thread of Swift's pool`() async throws {
    let folder = TemporaryFolder()
    let store = Store(.ofPartial(network.fetch), storage: .source(try DiskCache(folder: folder.url)))
    let (count, entered) = (16, Monitor(0))
    let stalled = (0..<count).map { number in
      store.get("\(number)", .networkOnly).subscribe(onNext: { _ in
        entered.update { $0 += 1 }
        gate.wait()
      })
    }
    for number in 0..<count { network[number].answer("v") }
    try await entered.wait { $0 == count }
    for _ in stalled { gate.signal() }
    for reading in stalled { reading.dispose() }
  }

  @Test func `E1: a watcher that stalls does not keep other keys from being invalidated`() async throws {
    let (store, keys) = (store(), ["a", "b", "c", "d"])
    for key in keys { await store.save("v", for: key) }
    let stalled = keys.map { key in
      store.stream(key, .cacheOnly).subscribe(onNext: { if $0.isStale { gate.wait() } })
    }
    Thread.detachNewThread { store.invalidateAll() }
    try await eventually { keys.allSatisfy { truth.read($0)?.isInvalidated == true } }
    for _ in stalled { gate.signal() }
    for watcher in stalled { watcher.dispose() }
  }

  @Test func `E1: a watcher that stalls does not keep other keys from being changed`() async throws {
    let (store, keys) = (store(), ["a", "b", "c", "d"])
    for key in keys { await store.save("v", for: key) }
    let stalled = keys.map { key in
      store.stream(key, .cacheOnly).subscribe(onNext: { if $0.value == "v!" { gate.wait() } })
    }
    let change = Task { await store.updateAll { $1 + "!" } }
    await change.value
    #expect(keys.allSatisfy { truth.read($0)?.value == "v!" })
    for _ in stalled { gate.signal() }
    for watcher in stalled { watcher.dispose() }
  }

  @Test func `E1: a watcher that stalls does not keep what is pushed next from others`() async throws {
    let (store, events) = (store(), PublishSubject<LiveEvent<String>>())
    await store.save("", for: "k")
    let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { if $0.value == "a" { gate.wait() } })
    let seen = Monitor("")
    let other = store.stream("k", .cacheOnly).subscribe(onNext: { new in seen.update { $0 = new.value ?? "-" } })
    let received = Recorder(store.follow("k", events.asObservable()) { $1 + $0 })
    Thread.detachNewThread { for value in ["a", "b"] { events.onNext(.value(value)) } }
    try await seen.wait { $0 == "ab" }
    try await eventually { received.elements.value == [.value("a"), .value("b")] }
    #expect(truth.read("k")?.value == "ab")
    gate.signal()
    for watcher in [stalled, other] { watcher.dispose() }
  }

  @Test func `E1: a watcher that stalls at a gap does not keep what is pushed next from others`() async throws {
    let (store, events) = (store(), PublishSubject<LiveEvent<String>>())
    await store.save("", for: "k")
    let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { if $0.isStale { gate.wait() } })
    let seen = Monitor("")
    let other = store.stream("k", .cacheOnly).subscribe(onNext: { new in seen.update { $0 = new.value ?? "-" } })
    let received = Recorder(store.follow("k", events.asObservable()) { $1 + $0 })
    Thread.detachNewThread { for event in [.dropped(1), .value("b")] as [LiveEvent] { events.onNext(event) } }
    try await seen.wait { $0 == "b" }
    gate.signal()
    for watcher in [stalled, other] { watcher.dispose() }
    received.dispose()
  }

  @Test func `E1: a watcher that stalls does not keep an accepted change from other keys`() async throws {
    let (store, keys) = (store(), ["a", "b", "c", "d"])
    for key in keys { await store.save("v", for: key) }
    let (response, seen) = (PublishSubject<Int>(), Monitor(false))
    let change = store.mutate(.ofAll { _, _ in "v!" }) { response.asObservable() }
      .subscribe(onNext: { _ in seen.update { $0 = true } })
    let stalled = ["a", "b"].map { key in
      store.stream(key, .cacheOnly).subscribe(onNext: { if $0.source == .memory { gate.wait() } })
    }
    Thread.detachNewThread { response.onNext(1) }
    try await seen.wait { $0 }
    #expect(keys.allSatisfy { truth.read($0)?.value == "v!" })
    for _ in stalled { gate.signal() }
    for subscription in stalled + [change] { subscription.dispose() }
  }

  @Test func `the cost of a write grows with the number of its watchers, and not with its square`() {
    let store = store()
    func cost(ofWatchers count: Int) -> Duration {
      let watchers = (0..<count).map { _ in store.stream("\(count)", .cacheOnly).subscribe(onNext: { _ in }) }
      defer { for watcher in watchers { watcher.dispose() } }
      return (0..<3).map { number in ContinuousClock().measure { store.save("\(number)", for: "\(count)") } }.min()
        ?? .zero
    }
    let (few, many) = (cost(ofWatchers: 2_000), cost(ofWatchers: 32_000))
    #expect(many < few * 64)
  }
}

/// A call of a store that a task waits for.
struct AwaitedCall: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable (Store<String, String>) async throws -> Void

  private init(_ name: String, _ make: @escaping @Sendable (Store<String, String>) async throws -> Void) {
    testDescription = name
    self.make = make
  }

  static let all = [
    AwaitedCall("save") { await $0.save("w", for: "k") }, AwaitedCall("update") { await $0.update("k") { $0 += "!" } },
    AwaitedCall("receive") { await $0.receive("k") { $0 + "!" } },
    AwaitedCall("invalidate") { await $0.invalidate("k") }, AwaitedCall("remove") { await $0.remove("k") },
    AwaitedCall("clear") { try await $0.clear() },
    AwaitedCall("get") { store in
      let reading = Task { try await store.get("k", .networkOnly).value }
      while store.peek("k")?.isFetching != true { await Task.yield() }
      reading.cancel()
      _ = await reading.result
    },
    AwaitedCall("mutate") { store in
      _ = try await store.mutate(.of("k") { _ in "w" }, send: { .just("w") }).value
    },
    AwaitedCall("mutate, refused") { store in
      _ = try? await store.mutate(.of("k") { _ in "w" }, send: { Observable<String>.error(Failure()) }).value
    },
    AwaitedCall("mutate, cancelled") { store in
      let isSent = Latch()
      let changing = Task {
        try await store.mutate(
          .of("k") { _ in "w" },
          send: {
            isSent.open()
            return Observable<String>.never()
          }
        ).value
      }
      try await isSent.wait()
      changing.cancel()
      _ = await changing.result
    },
    AwaitedCall("close") { await $0.close() }, AwaitedCall("signOut") { try await $0.signOut() },
  ]
}

/// A source of truth whose writes take a while, and say when they begin.
private struct SlowTruth: SourceOfTruth {
  private let truth = MemoryTruth<String, String>()
  private let onWrite: @Sendable () -> Void

  init(onWrite: @escaping @Sendable () -> Void) { self.onWrite = onWrite }

  func read(_ key: String) -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) {
    onWrite()
    Thread.sleep(forTimeInterval: 0.05)
    truth.write(stored, for: key)
  }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}
