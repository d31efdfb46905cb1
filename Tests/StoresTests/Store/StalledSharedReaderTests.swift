import Dispatch
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
    let (keys, entered) = ((0..<16).map(String.init), Monitor(0))
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
}
