import HTTPClientCore
import Streams

/// A table of what a middleware stores per origin.
typealias OriginTable<Value: Sendable> = RecentTable<HTTPOrigin, Value>

/// A table with a lock and a size limit: a process that talks to ever new origins must not grow with them.
///
/// When the table is full, the half that was not used for longest is removed.
final class RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    var value: Value
    var lastUse: UInt64 = 0

    mutating func use<Result>(number: UInt64, _ body: (inout Value) -> Result) -> Result {
      lastUse = number
      return body(&value)
    }
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var useCount: UInt64 = 0
  }

  private let limit: Int
  private let make: @Sendable () -> Value
  private let state = Locked(State())

  /// Takes the maximum number of keys, and a closure that makes the value for a new one.
  init(limit: Int = 1024, _ make: @escaping @Sendable () -> Value) {
    self.limit = max(limit, 2)
    self.make = make
  }

  var count: Int { state.withLock { $0.entries.count } }

  /// Calls a closure with a key's value, under the lock.
  func withValue<Result: Sendable>(of key: Key, _ body: (inout Value) -> Result) -> Result {
    let (result, forgotten) = state.withLock { state in
      state.useCount += 1
      let isFull = state.entries.count >= limit && state.entries[key] == nil
      let forgotten = isFull ? forgetHalf(&state) : nil
      return (state.entries[key, default: Entry(value: make())].use(number: state.useCount, body), forgotten)
    }
    // Released here, not under the lock: the observers of a value may be user code.
    _ = forgotten
    return result
  }

  private func forgetHalf(_ state: inout State) -> [Key: Entry] {
    let old = state.entries
    let uses = old.values.map(\.lastUse).sorted()
    let median = uses[uses.count / 2]
    state.entries = old.filter { $0.value.lastUse >= median }
    return old
  }
}
