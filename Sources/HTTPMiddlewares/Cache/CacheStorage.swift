import HTTPClientCore
import Streams
import SystemBase

/// Keeps the responses of a ``CacheMiddleware``: in memory, for example, or in files.
///
/// Methods are called on threads that may block, and several at once; they may wait for a device, but not for a task. A
/// storage may forget anything at any time. What it returns must be whole: one that reads from outside checks it first.
public protocol CacheStorage: Sendable {
  /// What was removed lately: one and the same object for all who use the storage, which makes it with itself.
  var removals: CacheRemovals { get }

  /// The responses of a key, one for each set of the request's fields that the server's `Vary` tells apart; empty if
  /// there is none.
  func responses(for key: CacheKey) -> [CachedResponse]

  /// Replaces the responses of a key; an empty list removes them. Once this returns, the old ones are not given again, even
  /// if the device has failed.
  func store(_ responses: [CachedResponse], for key: CacheKey)

  /// Removes all responses of an account, which signs out; `nil` for all accounts'. They are gone when this returns, or
  /// else it throws. Before it removes any, it records the sign-out in ``removals``.
  func removeAll(of account: String?) throws
}

/// A storage that never waits, so that it is called wherever a request or a response comes up, also on threads for tasks.
package protocol ImmediateCacheStorage: CacheStorage {}

/// Keeps responses in memory, up to a limit; those that were not used for longest go first.
///
/// When the limit is reached, a quarter of it is made free at once, so that making room takes no time worth mentioning
/// for each response. Copies share one memory.
public struct MemoryCacheStorage: CacheStorage, ImmediateCacheStorage {
  /// What was removed lately.
  public let removals = CacheRemovals()
  private let limit: Int
  private let state: Locked<LRUCache<CacheKey, [CachedResponse]>>

  /// Takes the limit in bytes, of bodies, header fields and what keeping them takes; 16 MiB by default.
  public init(limit: Int = 16 << 20) {
    self.limit = max(limit, 0)
    state = Locked(LRUCache(countLimit: .max, costLimit: self.limit))
  }

  /// How many bytes are taken, about.
  public var size: Int { state.withLock { $0.statistics.cost } }

  /// The responses of a key.
  public func responses(for key: CacheKey) -> [CachedResponse] { state.withLock { $0.read(key) } ?? [] }

  /// Replaces the responses of a key. What is larger than a quarter of the limit is not kept.
  public func store(_ responses: [CachedResponse], for key: CacheKey) {
    let cost = responses.reduce(key.cost) { $0 + $1.cost }
    let isKept = !responses.isEmpty && cost <= limit / 4
    state.withLock { cache in
      if isKept { _ = cache.write(responses, for: key, cost: cost) } else { _ = cache.remove(key) }
    }
  }

  /// Forgets all responses, without a removal: another storage has them, too.
  package func forgetAll() { withExtendedLifetime(state.withLock { $0.removeAll() }) {} }

  /// Removes all responses of an account, or of all.
  public func removeAll(of account: String?) {
    removals.add(account: account)
    state.withLock { cache in
      guard let account else { return _ = cache.removeAll() }
      for key in cache.keys where key.account.hasBytes(of: account) { _ = cache.remove(key) }
    }
  }
}
