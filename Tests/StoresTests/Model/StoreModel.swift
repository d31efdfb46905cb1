import Stores
import StoresTestSupport

/// What a store has to do, said as plainly as possible: one dictionary, one thread, no sharing of work.
struct StoreModel {
  struct Kept {
    var value: Int
    var writtenAt: Int
    var isPartial = false
    var isInvalidated = false
  }

  struct Request {
    var began: Int
    var claims: Set<Int> = []
    var gets: [(reader: Int, policy: FetchPolicy)] = []
    var keepsAnswer = false
    var isSuperseded = false
    var wasRemoved = false
    var lacksChange = false
    var wasInvalidated = false
  }

  struct Watcher {
    let key: String
    let policy: FetchPolicy
    /// Whether what is kept may not be shown yet.
    var isHidden: Bool
    /// An answer that was not kept.
    var passing: Int?
  }

  /// How a get has ended.
  enum Outcome: Equatable { case value(Int), failure }

  static let staleTime = 10
  static let partialTime = 5
  static let refreshTime = 7
  /// The delays after failures in a row.
  static let delays = [2, 4, 8]
  /// The claim of the store itself.
  static let own = 0
  static let staleIfError = 50

  var now = 0
  var kept: [String: Kept] = [:]
  /// Changes in flight; one without a key is of all values.
  private(set) var layers: [(id: Int, key: String?, added: Int, began: Int)] = []
  /// How new what is kept is: the step of its write, or of the request it answers.
  private var written: [String: Int] = [:]
  /// The same without changes and partial values.
  private var whole: [String: Int] = [:]
  private var invalidated: [String: Int] = [:]
  private var removed: [String: Int] = [:]
  private var steps = 0
  /// The latest failures: how many in a row, until when nobody asks again, and whether it was a part of an answer, which
  /// counts as no failure if there is nothing whole.
  private var failures: [String: (count: Int, until: Int, isPartial: Bool)] = [:]
  var requests: [String: Request] = [:]
  var watchers: [Int: Watcher] = [:]
  var outcomes: [Int: Outcome] = [:]

  func rendered(_ key: String, over value: Int? = nil) -> Int? {
    (value ?? kept[key]?.value).map { value in
      layers.filter { $0.key ?? key == key }.reduce(value) { $0 + $1.added }
    }
  }

  func isChanged(_ key: String) -> Bool { layers.contains { $0.key ?? key == key } }

  func isStale(_ key: String) -> Bool {
    kept[key].map { kept in
      let age = now - kept.writtenAt
      return kept.isInvalidated || age >= (kept.isPartial ? Self.partialTime : Self.staleTime)
    } ?? false
  }

  private func isUsableOnError(_ key: String) -> Bool {
    kept[key].map { now - $0.writtenAt <= Self.staleIfError } ?? false
  }

  /// What a watcher has been shown last.
  func shown(_ id: Int) -> Int? {
    guard let watcher = watchers[id] else { return nil }
    let passing = watcher.passing.flatMap { rendered(watcher.key, over: $0) }
    return watcher.isHidden ? passing : rendered(watcher.key) ?? passing
  }

  // MARK: Reading

  mutating func watch(_ id: Int, _ key: String, _ policy: FetchPolicy) {
    let waits: [FetchPolicy] = [.networkFirst, .networkOnly, .noCache]
    watchers[id] = Watcher(key: key, policy: policy, isHidden: waits.contains(policy))
    switch need(key, policy) {
    case .nothing: break
    case .refresh: refresh(key)
    case .answer where isSuspended(key, policy):
      // As after a request of its own that has failed.
      if isUsableOnError(key) || kept[key] == nil { watchers[id]?.isHidden = false }
    case .answer: claim(key, id, keepsAnswer: policy != .noCache)
    }
  }

  mutating func get(_ id: Int, _ key: String, _ policy: FetchPolicy) {
    switch need(key, policy) {
    case .answer where isSuspended(key, policy):
      outcomes[id] = isUsableOnError(key) ? rendered(key).map { .value($0) } ?? .failure : .failure
    case .answer:
      claim(key, id, keepsAnswer: policy != .noCache)
      requests[key]?.gets.append((id, policy))
    case .refresh, .nothing:
      outcomes[id] = rendered(key).map { .value($0) } ?? .failure
      if need(key, policy) == .refresh { refresh(key) }
    }
  }

  mutating func dispose(_ id: Int) {
    watchers[id] = nil
    layers.removeAll { $0.id == id }
    for key in requests.keys {
      requests[key]?.claims.remove(id)
      requests[key]?.gets.removeAll { $0.reader == id }
      if requests[key]?.claims.isEmpty == true { requests[key] = nil }
    }
  }

  private enum Need { case nothing, refresh, answer }

  private func need(_ key: String, _ policy: FetchPolicy) -> Need {
    switch policy {
    case .cacheOnly: return .nothing
    case .cacheFirst, .staleWhileRevalidate:
      guard let kept = kept[key] else { return .answer }
      if isStale(key) { return policy == .cacheFirst ? .answer : .refresh }
      return now - kept.writtenAt >= Self.refreshTime ? .refresh : .nothing
    default: return .answer
    }
  }

  private func hasJustFailed(_ key: String) -> Bool { failures[key].map { now < $0.until } ?? false }

  private func isSuspended(_ key: String, _ policy: FetchPolicy) -> Bool {
    guard hasJustFailed(key), requests[key] == nil, ![.networkOnly, .noCache].contains(policy) else { return false }
    return failures[key]?.isPartial == false || kept[key]?.isPartial == false && isUsableOnError(key)
  }

  private mutating func refresh(_ key: String) {
    if !hasJustFailed(key) { claim(key, Self.own, keepsAnswer: true) }
  }

  private mutating func claim(_ key: String, _ id: Int, keepsAnswer: Bool) {
    steps += 1
    var request = requests[key] ?? Request(began: steps)
    request.claims.insert(id)
    if keepsAnswer { request.keepsAnswer = true }
    requests[key] = request
  }

  // MARK: Answers

  mutating func answer(_ key: String, _ value: Int, isPartial: Bool, isCacheable: Bool) {
    guard let request = requests.removeValue(forKey: key) else { return }
    for get in request.gets { outcomes[get.reader] = rendered(key, over: value).map { .value($0) } }
    let mayStand = !isPartial || kept[key]?.isPartial ?? true
    let isNews = isCacheable && request.keepsAnswer && !request.isSuperseded && mayStand
    failures[key] = mayStand ? nil : (0, now + Self.partialTime, true)
    if isNews && !request.lacksChange {
      write(
        key,
        Kept(value: value, writtenAt: now, isPartial: isPartial, isInvalidated: request.wasInvalidated),
        askedAt: request.began)
    } else if !request.isSuperseded {
      for id in request.claims { watchers[id]?.passing = value }
    }
    let isOutOfDate = request.isSuperseded && kept[key]?.isInvalidated ?? false
    if request.wasRemoved { refetch(key, for: request.claims) }
    if request.wasInvalidated || isOutOfDate || isNews && request.lacksChange { refetch(key) }
  }

  mutating func fail(_ key: String) {
    guard let request = requests.removeValue(forKey: key) else { return }
    let count = (failures[key]?.count ?? 0) + 1
    failures[key] = (count, now + Self.delays[min(count, Self.delays.count) - 1], false)
    let mayStandIn = isUsableOnError(key)
    for get in request.gets {
      let reads = get.policy != .networkOnly && get.policy != .noCache
      outcomes[get.reader] = reads && mayStandIn ? rendered(key).map { .value($0) } : .failure
    }
    for (id, watcher) in watchers where watcher.key == key && watcher.policy == .networkFirst {
      if mayStandIn || kept[key] == nil { watchers[id]?.isHidden = false }
    }
  }

  // MARK: Writing

  mutating func save(_ key: String, _ value: Int, isInvalidated: Bool = false) {
    requests[key]?.isSuperseded = true
    write(key, Kept(value: value, writtenAt: now, isInvalidated: isInvalidated))
  }

  mutating func update(_ key: String, adding added: Int) {
    guard var changed = kept[key] else { return }
    changed.value += added
    requests[key]?.lacksChange = true
    write(key, changed, isChange: true)
  }

  mutating func remove(_ key: String) {
    requests[key]?.isSuperseded = true
    requests[key]?.wasRemoved = true
    write(key, nil)
    removed[key] = steps
  }

  mutating func invalidate(_ key: String) {
    steps += 1
    invalidated[key] = steps
    failures[key] = nil
    requests[key]?.wasInvalidated = true
    kept[key]?.isInvalidated = true
    refetch(key)
  }

  mutating func change(_ id: Int, _ key: String?, adding added: Int) {
    steps += 1
    layers.append((id, key, added, steps))
  }

  mutating func settle(_ id: Int, _ key: String, _ value: Int) {
    let layer = layers.first { $0.id == id }
    if let layer, layer.key == nil {
      for other in Array(kept.keys) where other != key {
        update(other, adding: layer.added)
        // What was asked for later may have had the change already.
        guard whole[other] ?? 0 > layer.began else { continue }
        kept[other]?.isInvalidated = true
        refetch(other)
      }
      // What is asked for may be older than the change.
      for other in requests.keys where other != key && kept[other] == nil { requests[other]?.wasInvalidated = true }
    }
    if let layer, let removed = removed[key], kept[key] == nil, removed > max(layer.began, written[key] ?? 0) {
      // What was removed since does not come back.
    } else if let layer, let kept = kept[key], !kept.isPartial, written[key] ?? 0 > layer.began {
      // A guess, since nobody knows whether the answer has what was written meanwhile.
      update(key, adding: layer.added)
      self.kept[key]?.isInvalidated = true
      refetch(key)
    } else {
      save(key, value, isInvalidated: invalidated[key] ?? 0 > layer?.began ?? 0)
    }
    layers.removeAll { $0.id == id }
  }

  /// What another process finds: partial answers are not on disk, and nothing else outlives the first.
  mutating func reopen() {
    kept = kept.filter { !$0.value.isPartial }
    (layers, requests, watchers, failures) = ([], [:], [:], [:])
  }

  private mutating func write(_ key: String, _ new: Kept?, askedAt request: Int? = nil, isChange: Bool = false) {
    steps += 1
    kept[key] = new
    failures[key] = nil
    if new != nil { written[key] = max(written[key] ?? 0, request ?? steps) }
    if let new, !new.isPartial, !isChange { whole[key] = max(whole[key] ?? 0, request ?? steps) }
    for id in watchers.keys where watchers[id]?.key == key {
      // Who waits for the network is not shown what was only changed.
      if !isChange || watchers[id]?.passing != nil { watchers[id]?.isHidden = false }
      watchers[id]?.passing = nil
    }
  }

  private mutating func refetch(_ key: String, for ids: Set<Int>? = nil) {
    for (id, watcher) in watchers
    where ids?.contains(id) ?? true && watcher.key == key && ![.cacheOnly, .noCache].contains(watcher.policy) {
      claim(key, id, keepsAnswer: true)
    }
  }
}
