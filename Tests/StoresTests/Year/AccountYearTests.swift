import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// A year of accounts that come and go, each with a folder on disk, in one process and one group.
@Suite(.timeLimit(.minutes(15)))
struct AccountYearTests {
  private static let accounts = TestScale.count(40, long: 1_000)
  private static let keys = TestScale.count(30, long: 100)
  private static let visitsADay = TestScale.count(2, long: 100)
  private static let maximumCount = 20
  /// For each account, in bytes: ten files.
  private static let folderLimit = 40 << 10
  private static let staleTime = YearClock.hour * 6

  private let clock = YearClock()
  private let folder = TemporaryFolder()
  private let isDown = Mutable(false)
  private let group: StoreGroup<String, String, YearValue>

  init() {
    let (clock, folder, isDown) = (clock, folder, isDown)
    group = StoreGroup(idleTimeout: .seconds(900), maximumCount: Self.maximumCount, scheduler: clock.time) { account in
      var configuration = StoreConfiguration<YearValue>()
      configuration.clock = clock.clock
      configuration.writing = .behind
      configuration.memoryCount = 20
      configuration.freshness = Freshness(staleTime: Self.staleTime, expireAfterWrite: YearClock.day * 30)
      let cache = try DiskCache<String, YearValue>(folder: folder.url, partition: account, limit: Self.folderLimit)
      let fetcher = Fetcher<String, YearValue>.ofStream { key in
        .deferred { isDown.value ? .error(RequestError(.connectionLost, "down")) : .just(clock.value(account, key)) }
      }
      return Store(fetcher, storage: .source(cache), configuration: configuration)
    }
  }

  /// One thing that is done with an account; what is wrong then.
  private func visit(_ account: String, _ random: inout SplitMix) async throws -> String? {
    let store = try group.store(for: account)
    let key = "k\(Int.random(in: 0..<Self.keys, using: &random))"
    switch Int.random(in: 0..<20, using: &random) {
    case 0:
      try await group.signOut(account)
      return nil
    case 1:
      await group.close(account)
      return nil
    case 2:
      await store.remove(key)
      return store.peek(key).map { "\(key) was removed, and is \($0)" }
    case 3:
      await store.invalidate(key)
      let value = try? await store.get(key).value.value
      return isDown.value || value == clock.value(account, key)
        ? nil : "\(key) was invalidated, and is \(value.debugDescription)"
    default:
      guard let snapshot = try? await store.get(key).value else { return isDown.value ? nil : "\(key) cannot be read" }
      guard let value = snapshot.value else { return "\(key) has no value" }
      if value.account != account || value.key != key { return "\(account) \(key) is \(value)" }
      if let fault = clock.fault(in: snapshot, value, isDown.value ? YearClock.day * 30 : Self.staleTime) {
        return "\(key): \(fault)"
      }
      return nil
    }
  }

  @Test func `in a year each account sees its own, nothing is stale for ever, and folders stay within bounds`()
    async throws
  {
    var random = SplitMix(seed: 2)
    var faults: [String] = []
    var (mostStores, mostTimers, mostValues, mostFiles) = (0, 0, 0, 0)
    for day in 0..<365 {
      clock.jumpIfDue(on: day)
      isDown.update { $0 = day % 30 == 7 }
      // A tenth of the accounts are there for some weeks; each third visit is one of any.
      let first = day * Self.accounts / 365
      for _ in 0..<Self.visitsADay {
        clock.time.advance(by: YearClock.day / Self.visitsADay)
        let isOfAny = Int.random(in: 0..<3, using: &random) == 0
        let number = isOfAny ? 0..<Self.accounts : first..<first + max(Self.accounts / 10, 1)
        let account = "a\(Int.random(in: number, using: &random) % Self.accounts)"
        // Sometimes a second visit follows at once.
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          if let fault = try await visit(account, &random) { faults.append("day \(day), \(account): \(fault)") }
        }
        // A year passes faster than a disk writes.
        #expect(await (try group.store(for: account)).flush() == nil)
        mostStores = max(mostStores, group.accounts.count)
        mostTimers = max(mostTimers, clock.time.pendingCount)
        mostValues = max(mostValues, group.statistics().count)
      }
      if day % 30 == 29 {
        await group.close()
        mostFiles = max(mostFiles, folder.records.count)
        for account in 0..<Self.accounts {
          let cache = try DiskCache<String, YearValue>(
            folder: folder.url, partition: "a\(account)", limit: Self.folderLimit)
          if cache.statistics.bytes > Self.folderLimit { faults.append("day \(day), a\(account): \(cache.statistics)") }
        }
      }
      if faults.count > 20 { break }
    }
    #expect(faults == [])
    // Those that still write come in addition.
    #expect(mostStores <= 2 * Self.maximumCount)
    #expect(mostTimers <= 4 * Self.maximumCount)
    #expect(mostValues <= 20 * Self.maximumCount)
    #expect(mostFiles <= Self.accounts * Self.folderLimit / 4_096)
    #expect(mostFiles > Self.accounts)
    await group.close()
    clock.time.advance(by: YearClock.day)
    #expect(group.accounts.isEmpty)
    #expect(clock.time.pendingCount == 0)
    for account in 0..<Self.accounts { try await group.signOut("a\(account)") }
    #expect(folder.records == [])
  }
}
