import Dispatch
import Streams
import SystemBase

/// What was removed from a storage lately: which accounts have signed out, and which keys were invalidated. A response that
/// was on its way meanwhile is not stored, through whichever stack of middlewares it comes. Also lets one response at a time
/// be stored for a key.
///
/// Each ``CacheStorage`` has one, made with it. It knows the last 4,096 removals at least; a response that was on its
/// way for longer than that is not stored either.
public final class CacheRemovals: Sendable {
  private struct State {
    var count: UInt64 = 0
    /// The number of the latest removal of each account and each key, by their hashes: a name may be a token.
    var latest: [Int: UInt64] = [:]
    /// Those before them.
    var earlier: [Int: UInt64] = [:]
    /// Removals up to this number are not known any more.
    var forgotten: UInt64 = 0
    /// The number of the last one before `latest` began.
    var turn: UInt64 = 0

    mutating func add(_ hash: Int) {
      if latest.count == CacheRemovals.limit {
        (earlier, latest, forgotten, turn) = (latest, [:], max(forgotten, turn), count)
      }
      count += 1
      latest[hash] = count
    }

    func contains(_ hash: Int, since time: UInt64) -> Bool { (latest[hash] ?? earlier[hash] ?? 0) > time }
  }

  private static let limit = 4_096

  private let state = Locked(State())
  /// Those who wait to replace something of keys of which something is being replaced.
  private let replacements = Locked<[CacheKey: Fifo<DispatchSemaphore>]>([:])
  /// The keys whose responses are still to be removed, by how many.
  private let leaving = Locked<[CacheKey: Int]>([:])

  /// Makes an empty one.
  public init() {}

  /// The number of the latest removal.
  package var now: UInt64 { state.withLock { $0.count } }

  /// Records that an account signs out; `nil` for all accounts. To be called before the responses are removed.
  public func add(account: String?) {
    state.withLock { state in
      guard let account else {
        state.count += 1
        return state.forgotten = state.count
      }
      state.add(Self.hash(ofAccount: account))
    }
  }

  /// Records that the responses of a key are no longer current. To be called before they are removed.
  public func add(_ key: CacheKey) {
    state.withLock { $0.add(key.hashValue) }
  }

  /// Whether the responses of a key were removed since a time, or may have been.
  package func concern(_ key: CacheKey, since time: UInt64) -> Bool {
    state.withLock { state in
      guard state.count != time else { return false }
      return time < state.forgotten || state.contains(Self.hash(ofAccount: key.account), since: time)
        || state.contains(key.hashValue, since: time)
    }
  }

  /// Removes the responses of keys, which are no longer current; `isLater` says that this thread must not wait for the
  /// storage. Nobody reads them meanwhile.
  package func remove(_ keys: [CacheKey], from storage: any CacheStorage, isLater: Bool = false) {
    for key in keys { add(key) }
    let remove = { @Sendable in
      for key in keys { storage.store([], for: key) }
    }
    guard isLater else { return remove() }
    leaving.withLock { leaving in
      for key in keys { leaving[key, default: 0] += 1 }
    }
    _ = ElasticScheduler().schedule { [self] in
      remove()
      leaving.withLock { leaving in
        for key in keys { leaving[key] = leaving[key].flatMap { $0 > 1 ? $0 - 1 : nil } }
      }
    }
  }

  /// Whether the responses of a key are still to be removed.
  package func isRemoving(_ key: CacheKey) -> Bool { leaving.withLock { $0[key] != nil } }

  /// Replaces the responses of a key by others that are made from them, after all who do so already.
  package func replacing(_ key: CacheKey, _ replace: () -> Void) {
    let turn = replacements.withLock { waiting -> DispatchSemaphore? in
      guard waiting[key] != nil else {
        waiting[key] = Fifo()
        return nil
      }
      let turn = DispatchSemaphore(value: 0)
      waiting[key]?.append(turn)
      return turn
    }
    turn?.wait()
    replace()
    let next = replacements.withLock { waiting in
      let next = waiting[key]?.popFirst()
      if next == nil { waiting[key] = nil }
      return next
    }
    next?.signal()
  }

  /// Waits until nothing is being replaced any more that an account has stored: what comes from then on is not stored,
  /// if its sign-out is recorded.
  package func waitForReplacements(of account: String) {
    let keys = replacements.withLock { waiting in waiting.keys.filter { $0.account.hasBytes(of: account) } }
    for key in keys { replacing(key) {} }
  }

  private static func hash(ofAccount account: String) -> Int {
    var hasher = Hasher()
    hasher.combine(0)
    hasher.combine(account)
    return hasher.finalize()
  }
}
