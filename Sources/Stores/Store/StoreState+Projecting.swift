import Streams
import SystemBase

/// Values that are made elsewhere, of data that several keys share: a change of the data changes them all.
extension StoreState {
  /// Whether a key is watched, read or requested.
  func isInUse(_ key: Key) -> Bool { entries[key] != nil }

  /// What memory has for a key.
  func held(_ key: Key) -> CachedValue<Value>? { entries[key]?.cached ?? memory.peek(key) }

  /// Whether somebody wants the response to a request of a key cached.
  func cachesResponse(of key: Key) -> Bool { entries[key]?.fetches.contains { $0.cachesResponse } ?? false }

  /// Shows what the shared data have for a key now. It is as old as the value that it replaces, and as stale; what comes
  /// for requests in flight has been made of the same data, so it is not older.
  /// - Parameter made: Its date and whether it is out of date, if memory has no value.
  mutating func project(_ value: Value, for key: Key, made: CachedValue<Value>) {
    guard ending == nil else { return }
    var cached = made
    let old = held(key)
    if let old {
      cached = old
      cached.value = newest(old.value, value)
      if old.isPartial { cached.errors = [] }
    }
    if let entry = entries[key] {
      entry.version = nextNumber()
      entry.isLoaded = true
    }
    install(cached, for: key)
    publish(key)
  }

  /// Marks the value of a key as out of date, since the shared data lack a part of it now, and requests it for those who
  /// watch it.
  mutating func lose(_ key: Key, requests: Bool) {
    guard ending == nil, var cached = held(key) else { return }
    cached.isInvalidated = true
    install(cached, for: key)
    if !requests || !refetch(key) { publish(key) }
  }

  /// Drops the value of a key; returns `false`, and does nothing, if it is in use.
  mutating func drop(_ key: Key) -> Bool {
    if isInUse(key) { return false }
    forget(key)
    return true
  }
}
