import Foundation
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// A group of stores on disks that fail, beside a plain model of what each account has.
@Suite(.timeLimit(.minutes(5))) struct GroupModelTests {
  @Test(arguments: [StoreConfiguration<String>.Writing.through, .behind])
  func
    `S1, D3: whatever is released, held, ended or fails, no write is lost, and nothing of an account that ended is left`(
      writing: StoreConfiguration<String>.Writing
    ) async throws
  {
    let seed =
      ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...(.max))
    print("MOMENTS_TEST_SEED=\(seed)")
    var run = GroupRun(seed: seed, writing: writing)
    for step in 0..<TestScale.count(1_000, long: 50_000) {
      let operation = try await run.step()
      guard let difference = await run.difference() else { continue }
      Issue.record("seed \(seed), \(writing), step \(step), after \(operation): \(difference)")
      return
    }
    if let difference = try await run.end() { Issue.record("seed \(seed), \(writing), at the end: \(difference)") }
  }
}

private struct GroupRun {
  private typealias Strings = Store<String, String>

  /// What the model knows of a key.
  private struct Kept {
    var value: String?
    var isInvalidated = false
    /// Whether the disk may have failed to keep it.
    var mayBeLost = false
    /// Whether it may still wait to be written.
    var isPending = false
  }

  private static let accounts = ["a", "b", "c", "d"]
  private static let keys = ["1", "2", "3"]

  private var random: SplitMix
  private let writing: StoreConfiguration<String>.Writing
  private let folder: TemporaryFolder
  private let files: FaultyFileSystem
  private let scheduler: TestScheduler
  private let group: StoreGroup<String, String, String>
  private var held: [(account: String, session: Int, store: Strings)] = []
  private var kept: [String: [String: Kept]] = [:]
  private var sessions: [String: Int] = [:]
  /// The accounts whose sign-out has failed so far.
  private var leaving: Set<String> = []
  private var isFailing = false
  private var number = 0

  init(seed: UInt64, writing: StoreConfiguration<String>.Writing) {
    random = SplitMix(seed: seed)
    self.writing = writing
    let (folder, files, scheduler) = (TemporaryFolder(), FaultyFileSystem(), TestScheduler())
    (self.folder, self.files, self.scheduler) = (folder, files, scheduler)
    group = StoreGroup(idleTimeout: .seconds(60), maximumCount: 2, scheduler: scheduler) { account in
      var configuration = StoreConfiguration<String>()
      configuration.writing = writing
      configuration.memoryCount = 2
      configuration.idleTime = nil
      let cache = try DiskCache<String, String>(
        folder: folder.url, partition: account, coder: .json, fileSystem: files)
      return Store(.ofStream { _ in Observable<String>.never() }, storage: .source(cache), configuration: configuration)
    }
  }

  /// Does one thing to both; says what.
  mutating func step() async throws -> String {
    guard let account = Self.accounts.randomElement(using: &random), let key = Self.keys.randomElement(using: &random)
    else { return "" }
    switch Int.random(in: 0..<40, using: &random) {
    case 0..<14:
      guard let store = open(account) else { return "opening \(account) has failed" }
      return await write(key, account, session: sessions[account, default: 0], store)
    case 14..<19:
      guard let (account, session, store) = held.randomElement(using: &random) else { return "nothing" }
      return await write(key, account, session: session, store)
    case 19..<22:
      guard let store = open(account) else { return "opening \(account) has failed" }
      await store.remove(key)
      if !leaving.contains(account) {
        kept[account, default: [:]][key] = Kept(mayBeLost: isFailing, isPending: writing == .behind)
      }
      return "remove \(account) \(key)"
    case 22..<25:
      guard let store = open(account) else { return "opening \(account) has failed" }
      await store.invalidate(key)
      if !leaving.contains(account) {
        kept[account]?[key]?.isInvalidated = true
        if isFailing { kept[account]?[key]?.mayBeLost = true }
        if writing == .behind { kept[account]?[key]?.isPending = true }
      }
      return "invalidate \(account) \(key)"
    case 25..<28:
      let all = held
      held = all.filter { _ in Bool.random(using: &random) }
      return "release"
    case 28..<30:
      scheduler.advance(by: .seconds(30))
      return "30 seconds"
    case 30..<32:
      await group.close(account)
      if !isFailing { settle(account) }
      return "close \(account)"
    case 32..<35:
      return await signOut(account)
    case 35..<37:
      isFailing = true
      let faults = FaultyFileSystem.Fault.allCases
      files.fail(
        call: .random(in: 0..<20, using: &random), faults.randomElement(using: &random) ?? .noSpace,
        isLasting: Bool.random(using: &random))
      for (account, keys) in kept {
        for (key, state) in keys where state.isPending { kept[account]?[key]?.mayBeLost = true }
      }
      return "the disk begins to fail"
    default:
      await heal()
      return "the disk works again"
    }
  }

  private mutating func open(_ account: String) -> Strings? {
    guard let store = try? group.store(for: account) else { return nil }
    if Bool.random(using: &random) { held.append((account, sessions[account, default: 0], store)) }
    return store
  }

  private mutating func write(_ key: String, _ account: String, session: Int, _ store: Strings) async -> String {
    number += 1
    let value = "value \(number) of \(account), session \(session)"
    let isEnded = store.state.withLock { $0.ending != nil }
    await store.save(value, for: key)
    let isCurrent = session == sessions[account, default: 0] && !leaving.contains(account) && !isEnded
    if isCurrent {
      kept[account, default: [:]][key] = Kept(value: value, mayBeLost: isFailing, isPending: writing == .behind)
    }
    return "save \(account) \(key) \(value)\(isCurrent ? "" : ", which has ended")"
  }

  private mutating func settle(_ account: String) {
    for key in Self.keys { kept[account]?[key]?.isPending = false }
  }

  private mutating func heal() async {
    files.fail(call: nil)
    isFailing = false
  }

  private mutating func signOut(_ account: String) async -> String {
    do {
      try await group.signOut(account)
      kept[account] = [:]
      sessions[account, default: 0] += 1
      leaving.remove(account)
      return "sign out \(account)"
    } catch {
      // It has ended if it could be opened.
      if held.contains(where: {
        $0.account == account && $0.session == sessions[account, default: 0] && $0.store.isLeaving
      })
        || (try? group.store(for: account))?.isLeaving == true
      {
        kept[account] = [:]
        leaving.insert(account)
      }
      return "signing out \(account) has failed"
    }
  }

  /// What the stores and the model do not agree on.
  mutating func difference() async -> String? {
    for (account, session, store) in held where session < sessions[account, default: 0] {
      if let key = Self.keys.first(where: { store.peek($0) != nil }) {
        return "\(account) has signed out, and its store has \(key)"
      }
    }
    for account in Self.accounts where !leaving.contains(account) {
      guard let store = try? group.store(for: account) else {
        if isFailing { continue }
        return "\(account) cannot be opened"
      }
      for key in Self.keys {
        let snapshot = Recorder(store.get(key, .cacheOnly)).take().first
        let state = kept[account]?[key] ?? Kept()
        if snapshot?.value == nil, state.mayBeLost || isFailing { continue }
        if snapshot?.value != state.value {
          return "\(account) \(key) is \(snapshot?.value ?? "-"), not \(state.value ?? "-")"
        }
        if snapshot?.isStale == false, state.isInvalidated { return "\(account) \(key) is not stale" }
      }
    }
    return leftover()
  }

  /// What files have of accounts that have signed out.
  private func leftover() -> String? {
    for file in folder.files {
      guard let data = FileManager.default.contents(atPath: folder.path(file)) else { continue }
      let text = String(decoding: data, as: UTF8.self)
      for account in Self.accounts where !leaving.contains(account) {
        for session in 0..<sessions[account, default: 0] where text.contains("of \(account), session \(session)\"") {
          return "a file has a value of \(account) in session \(session)"
        }
      }
    }
    return nil
  }

  /// When the disk works again, so does everything; and what was kept is on disk.
  mutating func end() async throws -> String? {
    await heal()
    for account in leaving { _ = await signOut(account) }
    guard leaving.isEmpty else { return "\(leaving) cannot sign out" }
    if let difference = await difference() { return difference }
    await group.close()
    held = []
    for account in Self.accounts {
      let cache = try DiskCache<String, String>(folder: folder.url, partition: account)
      for key in Self.keys {
        let (value, state) = (try cache.read(key)?.value, kept[account]?[key] ?? Kept())
        if value != state.value, !state.mayBeLost {
          return "\(account) \(key) is \(value ?? "-") on disk, not \(state.value ?? "-")"
        }
      }
      let store = try group.store(for: account)
      await store.save("last", for: "1")
      await store.flush()
      guard try DiskCache<String, String>(folder: folder.url, partition: account).read("1")?.value == "last" else {
        return "\(account) refuses to work"
      }
    }
    return nil
  }
}

extension Store {
  /// Whether its account was signed out, but something may be left.
  fileprivate var isLeaving: Bool { state.withLock { $0.ending == .signedOut } }
}
