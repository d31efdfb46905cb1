import Foundation
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@Suite("two stores on one shared source of truth", .timeLimit(.minutes(3)))
struct SharedModelTests {
  /// Random writes, removals, invalidations, outages, late reports and expiry of one key: at rest all agree, and no store
  /// shows an older state after a newer one.
  @Test func `F1: at rest all agree, and none shows an older value after a newer one`() async throws {
    let seed =
      ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...(.max))
    print("MOMENTS_TEST_SEED=\(seed)")
    var random = SplitMix(seed: seed)
    for round in 0..<TestScale.count(20, long: 500) {
      try await play(round, seed, &random)
    }
  }

  private func play(_ round: Int, _ seed: UInt64, _ random: inout SplitMix) async throws {
    let shared = SharedTruth.Server()
    let time = TestScheduler()
    let stores = (0..<2).map { number in
      var configuration = StoreConfiguration<String>()
      configuration.clock = .scheduler(time)
      if number == 1 { configuration.freshness.expireAfterAccess = .seconds(20) }
      return Store<String, String>(
        .ofStream { _ in .never() }, storage: .async(SharedTruth(shared)), configuration: configuration)
    }
    let seen = stores.map { _ in Monitor([String]()) }
    let watching = zip(stores, seen).map { store, seen in
      store.values("k").subscribe(onNext: { value in seen.update { $0.append(value) } })
    }
    var last: String?
    for step in 0..<60 {
      let store = stores[Int.random(in: 0..<2, using: &random)]
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<5:
        last = "\(step)"
        await store.save("\(step)", for: "k")
      case 5:
        last = nil
        await store.remove("k")
      case 6: await store.invalidate("k")
      case 7: shared.isAway = true
      case 8: if shared.isAway { shared.comeBack() }
      case 9: shared.report(.key("k"))
      case 10: shared.refused.update { $0["k"] = 1 }
      default: time.advance(by: .seconds(Int.random(in: 1...15, using: &random)))
      }
    }
    shared.refused.update { $0 = [:] }
    shared.comeBack()
    for store in stores { await store.flush() }
    shared.report(.key("k"))
    // Reports are read back in tasks.
    for store in stores { await settle(store, shared, last) }
    let place = "round \(round) of seed \(seed)"
    #expect(shared.value("k")?.value == last, "\(place)")
    for (store, seen) in zip(stores, seen) {
      #expect(store.peek("k")?.value == last || store.peek("k") == nil, "\(place)")
      let numbers = seen.value.compactMap { Int($0) }
      #expect(numbers == numbers.sorted(), "\(place)")
    }
    for subscription in watching { subscription.dispose() }
  }

  private func settle(_ store: Store<String, String>, _ shared: SharedTruth.Server, _ value: String?) async {
    for _ in 0..<2_000 where store.peek("k")?.value != value || shared.value("k")?.value != value {
      await store.flush()
      await Task.yield()
    }
  }
}
