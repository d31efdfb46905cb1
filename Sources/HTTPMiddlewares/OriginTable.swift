import HTTPClientCore
import SystemBase

/// A table of what a middleware stores per origin.
typealias OriginTable<Value: Sendable> = RecentTable<HTTPOrigin, Value>

/// A table with a lock and a size limit: a process that talks to ever new origins must not grow with them.
///
/// When the table is full, what was not used for longest is removed.
final class RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let make: @Sendable () -> Value
  private let state: Locked<LRUCache<Key, Value>>

  /// Takes the maximum number of keys, and a closure that makes the value for a new one.
  init(limit: Int = 1024, _ make: @escaping @Sendable () -> Value) {
    state = Locked(LRUCache(countLimit: max(limit, 1), costLimit: .max))
    self.make = make
  }

  var count: Int { state.withLock { $0.statistics.count } }

  /// A key's value, if it has one.
  func known(_ key: Key) -> Value? { state.withLock { $0.read(key) } }

  /// Calls a closure with a key's value, under the lock.
  func withValue<Result: Sendable>(of key: Key, _ body: (inout Value) -> Result) -> Result {
    let (result, forgotten) = state.withLock { values -> (Result, [Value]) in
      // Most requests are like the one before: comparing with its key takes less than hashing, as of a long token.
      if let place = values.newestPlace(of: key) ?? values.place(of: key) {
        values.use(at: place)
        if let result = values.modify(at: place, body) { return (result, []) }
      }
      var value = make()
      let result = body(&value)
      return (result, values.write(value, for: key, cost: 0))
    }
    // Released here, not under the lock: the observers of a value may be user code.
    withExtendedLifetime(forgotten) {}
    return result
  }
}
