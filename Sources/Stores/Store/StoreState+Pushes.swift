import Streams

/// What a server pushes while a value is requested: it is applied to the response, which may have been made before.
///
/// Whether the response has a part of it already is unknown. So when pushes have overtaken it, the value is requested once
/// more, after a pause that grows as long as they continue: a busy stream costs a request at a time, and ever fewer, and
/// the end is what the server says.
extension StoreState {
  /// How many pushes are kept for a response; with more, the response is discarded.
  static var pushLimit: Int { 4_096 }

  /// Keeps what was pushed for the responses to requests in flight; returns whether there are any, and all can get it.
  mutating func keep(_ change: @escaping @Sendable (Value) -> Value?, for key: Key) -> Bool {
    guard let entry = entries[key], !entry.fetches.isEmpty, entry.pushes.count < Self.pushLimit else { return false }
    entry.pushes.append(StoreEntry.Push(number: nextNumber(), change: change))
    return true
  }

  /// Notes a push that has changed no value, or found none: the response to a request of another key, or to a change, may
  /// lack it.
  mutating func notePush(to key: Key) {
    let number = nextNumber()
    discard(writes.log(key, at: number) { $0.pushedAt = number })
    discard(localWrites.log(key, at: number) { $0.changedAt = number })
  }

  func pushes(to key: Key, during fetch: UInt64) -> [StoreEntry<Key, Value>.Push] {
    guard let entry = entries[key], !entry.pushes.isEmpty else { return [] }
    return entry.pushes.filter { $0.number > fetch }
  }

  /// Forgets the pushes that no request in flight is waiting for.
  mutating func dropPushes(of key: Key) {
    guard let entry = entries[key], !entry.pushes.isEmpty else { return }
    guard let oldest = entry.fetches.map(\.id).min() else { return discard(exchange(&entry.pushes, with: [])) }
    let place = entry.pushes.firstIndex { $0.number > oldest } ?? entry.pushes.count
    discard(Array(entry.pushes[..<place]))
    entry.pushes.removeSubrange(..<place)
  }

  /// Makes a request after a pause, if a response was overtaken by what was pushed; one that was not ends the series.
  mutating func refetchLater(_ key: Key, wasOvertaken: Bool) {
    guard let entry = entries[key] else { return }
    guard wasOvertaken else { return entry.overtaken.count = 0 }
    if entry.overtaken.isPausing { return }
    let pause = Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0).delay(after: entry.overtaken.count + 1)
    entry.overtaken = (entry.overtaken.count + 1, true)
    effects.append(.refetchLater(key, pause))
  }

  mutating func refetchAfterPause(_ key: Key) {
    entries[key]?.overtaken.isPausing = false
    refetch(key)
  }
}
