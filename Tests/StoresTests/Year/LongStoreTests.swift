import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// One store that is used for a year without a restart.
@Suite(.timeLimit(.minutes(5)))
struct LongStoreTests {
  private static let keys = TestScale.count(10_000, long: 100_000)
  private static let readsAnHour = TestScale.count(2, long: 100)
  private static let memoryCount = TestScale.count(20, long: 500)
  private static let staleTime = YearClock.hour
  private static let expiry = YearClock.day * 7

  private let clock = YearClock()
  private let isDown = Mutable(false)
  private let requests = Mutable(0)
  private let store: Store<String, YearValue>

  init() {
    var configuration = StoreConfiguration<YearValue>()
    configuration.clock = clock.clock
    configuration.memoryCount = Self.memoryCount
    configuration.idleTime = YearClock.hour * 6
    configuration.freshness = Freshness(
      staleTime: Self.staleTime, refreshAfterWrite: Self.staleTime * 0.75, expireAfterWrite: Self.expiry)
    let (clock, isDown, requests) = (clock, isDown, requests)
    store = Store(
      .ofStream { key in
        .deferred {
          requests.update { $0 += 1 }
          if isDown.value { return .error(RequestError(.connectionLost, "down")) }
          return .just(clock.value("a", key))
        }
      }, configuration: configuration)
  }

  @Test func `in a year nothing is stale for ever, ages are right, and tables and timers stay within bounds`()
    async throws
  {
    var random = SplitMix(seed: 1)
    // Three values are polled all year; others are watched for a day.
    let polled = ["k1", "k2", "k3"].map { key in Polled(store.stream(key, every: YearClock.hour * 3)) { $0.asOf } }
    var watchers: [Recorder<Snapshot<YearValue>>] = []
    var faults: [String] = []
    var (mostEntries, mostTimers, mostMemory) = (0, 0, 0)
    for hour in 0..<365 * 24 {
      let (day, hourOfDay) = (hour / 24, hour % 24)
      if hourOfDay == 0 {
        clock.jumpIfDue(on: day)
        watchers = (0..<5).map { _ in
          Recorder(store.stream("k\(Int.random(in: 0..<Self.keys, using: &random))", .cacheAndNetwork))
        }
      }
      // Two hours each week.
      isDown.update { $0 = day % 7 == 3 && hourOfDay < 2 }
      clock.time.advance(by: YearClock.hour)
      for _ in 0..<Self.readsAnHour {
        // Half of the reads are of a hundredth of the keys.
        let keys = Bool.random(using: &random) ? Self.keys / 100 : Self.keys
        let key = "k\(Int.random(in: 0..<keys, using: &random))"
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
          await store.invalidate(key)
          let value = try? await store.get(key).value.value
          if !isDown.value, value != clock.value("a", key) {
            faults.append("\(hour) h: \(key) was invalidated, and is \(value.debugDescription)")
          }
        case 1: await store.remove(key)
        case 2:
          await store.update(key) { [clock] in $0.asOf = clock.time.now / .seconds(1) }
        case 3:
          _ = try? await store.mutate(
            .of(key) { $0 },
            send: { [clock] in .just(clock.value("a", key)) }
          ).value
        default:
          guard let snapshot = try? await store.get(key).value else {
            // Nothing was cached.
            if !isDown.value { faults.append("\(hour) h: \(key) cannot be read") }
            continue
          }
          guard let value = snapshot.value, value.key == key else {
            faults.append("\(hour) h: \(key) is \(snapshot)")
            continue
          }
          let fault = clock.fault(in: snapshot, value, isDown.value ? Self.expiry : Self.staleTime)
          if let fault { faults.append("\(hour) h: \(key): \(fault)") }
        }
      }
      let (entries, memory) = store.state.withLock { ($0.entries.count, $0.memory.statistics.count) }
      mostEntries = max(mostEntries, entries)
      mostMemory = max(mostMemory, memory)
      mostTimers = max(mostTimers, clock.time.pendingCount)
      for polled in polled {
        // Failures in a row double the pause, and a clock that is set back makes what is cached seem younger.
        if let fault = await polled.fault(clock, YearClock.hour * 12) { faults.append("\(hour) h: \(fault)") }
      }
      if faults.count > 20 { break }
    }
    #expect(faults == [])
    #expect(mostMemory == Self.memoryCount)
    #expect(mostEntries <= 20)
    #expect(mostTimers <= 20)
    #expect(requests.value > 10_000)
    for polled in polled { polled.dispose() }
    for recorder in watchers { recorder.dispose() }
    clock.time.advance(by: YearClock.day)
    #expect(store.statistics.count == 0)
    #expect(clock.time.pendingCount == 0)
    let left = store.state.withLock { state in
      [state.entries.count, state.writes.count, state.localWrites.count, state.failures.statistics.count]
    }
    #expect(left == [0, 0, 0, 0])
  }
}
