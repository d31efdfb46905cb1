/// What a middleware keeps of each origin, behind a lock and within a bound: a process that speaks to ever new origins
/// must not grow with them.
///
/// When there are too many, those that were not used for longest are forgotten, half of them at a time.
final class OriginTable<Value: Sendable>: Sendable {
  private struct Entry {
    var value: Value
    var lastUse: UInt64 = 0

    mutating func use<Result>(number: UInt64, _ body: (inout Value) -> Result) -> Result {
      lastUse = number
      return body(&value)
    }
  }

  private struct State {
    var entries: [HTTPOrigin: Entry] = [:]
    var useCount: UInt64 = 0
  }

  private let limit: Int
  private let make: @Sendable () -> Value
  private let state = Locked(State())

  /// Takes how many origins to remember at most, and what to begin with for a new one.
  init(limit: Int = 1024, _ make: @escaping @Sendable () -> Value) {
    self.limit = max(limit, 2)
    self.make = make
  }

  var count: Int { state.withLock { $0.entries.count } }

  /// Does something with an origin's value, under the lock.
  func withValue<Result: Sendable>(of origin: HTTPOrigin, _ body: (inout Value) -> Result) -> Result {
    let (result, forgotten) = state.withLock { state in
      state.useCount += 1
      let isFull = state.entries.count >= limit && state.entries[origin] == nil
      let forgotten = isFull ? forgetHalf(&state) : nil
      return (state.entries[origin, default: Entry(value: make())].use(number: state.useCount, body), forgotten)
    }
    // Released here, and not under the lock: what watches a value may be the user's.
    _ = forgotten
    return result
  }

  private func forgetHalf(_ state: inout State) -> [HTTPOrigin: Entry] {
    let old = state.entries
    let uses = old.values.map(\.lastUse).sorted()
    let median = uses[uses.count / 2]
    state.entries = old.filter { $0.value.lastUse >= median }
    return old
  }
}
