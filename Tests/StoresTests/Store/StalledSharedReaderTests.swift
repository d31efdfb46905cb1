import Foundation
import GraphQLClient
import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

/// What those who stall cost the others where values come from an asynchronous source of truth.
@Suite(.timeLimit(.minutes(2))) struct StalledSharedReaderTests {
  private let shared = SharedTruth.Server()
  private let gate = DispatchSemaphore(value: 0)

  private func store() -> Store<String, String> {
    Store(.ofStream { _ in .never() }, storage: .async(SharedTruth(shared, timeLimit: .seconds(60))))
  }

  /// Saves a value as another process does.
  private func share(_ value: String, for keys: [String] = ["k"]) async {
    let other = store()
    for key in keys { await other.save(value, for: key) }
    await other.flush()
  }

  @Test func `E1: a reader that stalls does not keep a value that was loaded for both from another one`() async throws {
    await share("v")
    let store = store()
    shared.readGate.hold()
    let stalled = store.get("k", .cacheOnly).subscribe(onNext: { _ in gate.wait() })
    let other = Recorder(store.get("k", .cacheOnly))
    try await shared.readGate.held.wait { $0 == 1 }
    shared.readGate.release()
    try await other.waitForCompletion()
    #expect(other.brief() == ["v disk"])
    gate.signal()
    stalled.dispose()
  }

  @Test func `E2: readers that stall at what was loaded keep no thread of Swift's pool`() async throws {
    let count = max(16, ProcessInfo.processInfo.activeProcessorCount + 2)
    let (keys, entered) = ((0..<count).map(String.init), Monitor(0))
    await share("v", for: keys)
    let store = store()
    let stalled = keys.map { key in
      store.get(key, .cacheOnly).subscribe(onNext: { _ in
        entered.update { $0 += 1 }
        _ = gate.wait(timeout: .now() + 20)
      })
    }
    let begin = ContinuousClock.now
    try await entered.wait(within: .seconds(100)) { $0 == keys.count }
    for _ in 0..<8 { await Task { await Task.yield() }.value }
    #expect(.now - begin < .seconds(15))
    for _ in keys { gate.signal() }
    for reading in stalled { reading.dispose() }
  }

  @Test func `E1: a watcher that stalls at what others have written does not keep what they write next from others`()
    async throws
  {
    await share("0")
    let store = store()
    let (seen, before) = (Monitor(""), shared.readGate.held.value)
    let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { if $0.value == "1" { gate.wait() } })
    let other = store.stream("k", .cacheOnly).subscribe(onNext: { new in seen.update { $0 = new.value ?? "-" } })
    try await seen.wait { $0 == "0" }
    shared.readGate.hold()
    await share("1")
    try await shared.readGate.held.wait { $0 == before + 1 }
    await share("2")
    shared.readGate.release()
    try await seen.wait { $0 == "2" }
    gate.signal()
    for watcher in [stalled, other] { watcher.dispose() }
  }

  @Test func `E1: a watcher that stalls at a push that came before the value was loaded keeps nothing else back`()
    async throws
  {
    await share("v")
    let (store, events, seen) = (store(), PublishSubject<LiveEvent<String>>(), Monitor(""))
    shared.readGate.hold()
    let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { if $0.value == "v1" { gate.wait() } })
    let other = store.stream("k", .cacheOnly).subscribe(onNext: { new in seen.update { $0 = new.value ?? "-" } })
    let received = Recorder(store.follow("k", events.asObservable()) { $1 + $0 })
    try await shared.readGate.held.wait { $0 == 1 }
    events.onNext(.value("1"))
    shared.readGate.release()
    try await seen.wait { $0.hasPrefix("v1") }
    Thread.detachNewThread { events.onNext(.value("2")) }
    try await seen.wait { $0 == "v12" }
    try await eventually { received.elements.value == [.value("1"), .value("2")] }
    gate.signal()
    for watcher in [stalled, other] { watcher.dispose() }
  }

  @Test func `L1: what is pushed before the value was loaded is applied in its order, however long that takes`()
    async throws
  {
    await share("v")
    let (store, events, seen) = (store(), PublishSubject<LiveEvent<String>>(), Monitor(""))
    let second = DispatchSemaphore(value: 0)
    shared.readGate.hold()
    let watcher = store.stream("k", .cacheOnly).subscribe(onNext: { new in seen.update { $0 = new.value ?? "-" } })
    let received = Recorder(
      store.follow("k", events.asObservable()) { live, value in
        if live == "2" { second.signal() } else { _ = second.wait(timeout: .now() + 0.2) }
        return value + live
      })
    try await shared.readGate.held.wait { $0 == 1 }
    for live in ["1", "2"] { events.onNext(.value(live)) }
    shared.readGate.release()
    try await eventually { received.elements.value.count == 2 }
    try await seen.wait { $0.utf8.count == 3 }
    #expect(seen.value == "v12")
    watcher.dispose()
  }

  @Test func `E1: a watcher that stalls at what is changed for all keeps no call that changes all`() async throws {
    await share("v")
    let store = store()
    let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { if $0.isStale { gate.wait() } })
    try await eventually { store.peek("k") != nil }
    await store.invalidateAll()
    gate.signal()
    stalled.dispose()
  }

  @Test func `E1: an observer that stalls at a push does not keep the next one from the source`() async throws {
    await share("v")
    let (store, events) = (store(), PublishSubject<LiveEvent<String>>())
    shared.readGate.hold()
    let following = store.follow("k", events.asObservable()) { live, value in live == "1" ? nil : value + live }
      .subscribe(onNext: { if $0.value == "1" { gate.wait() } })
    for live in ["1", "2"] { events.onNext(.value(live)) }
    try await shared.readGate.held.wait { $0 == 1 }
    shared.readGate.release()
    try await eventually(within: .seconds(20)) { shared.value("k")?.value == "v2" }
    gate.signal()
    following.dispose()
  }

  @Test(arguments: UnreadChange.allCases)
  func `E3: a change of a value that cannot be read invalidates it`(_ change: UnreadChange) async throws {
    await share("v")
    let store = Store<String, String>(
      .ofStream { _ in .never() }, storage: .async(SharedTruth(shared, timeLimit: .milliseconds(100))))
    shared.readGate.hold()
    switch change {
    case .push:
      let events = PublishSubject<LiveEvent<String>>()
      let received = Recorder(store.follow("k", events.asObservable()) { $1 + $0 })
      events.onNext(.value("1"))
      try await eventually { received.elements.value.count == 1 }
    case .update: await store.update("k") { $0 += "1" }
    case .receive: await store.receive("k") { $0 + "1" }
    case .all:
      // The watcher keeps what could not be loaded.
      let watcher = Recorder(store.stream("k", .cacheOnly))
      try await eventually { watcher.elements.value.count == 1 }
      await store.updateAll { $1 + "1" }
      watcher.dispose()
    }
    #expect(shared.value("k")?.isInvalidated == true)
    shared.readGate.release()
  }

  @Test func `F1: what is changed for all while it is being loaded is not shown as it was`() async throws {
    await share("v")
    let (store, isStale) = (store(), Monitor(false))
    shared.readGate.hold()
    let watcher = store.stream("k", .cacheOnly).subscribe(onNext: { new in
      isStale.update { $0 = new.isStale || new.value == nil }
    })
    try await shared.readGate.held.wait { $0 == 1 }
    await store.updateAll { $1 + "!" }
    shared.readGate.release()
    try await eventually { store.peek("k") != nil }
    try await isStale.wait { $0 }
    #expect(store.peek("k")?.isStale == true)
    watcher.dispose()
  }
}

/// A change of what is in the source of truth alone.
enum UnreadChange: CaseIterable { case push, update, receive, all }
