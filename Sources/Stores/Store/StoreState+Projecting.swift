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

  /// Shows what the shared data have for a key now. It is as old as the value that it replaces; what comes for requests in
  /// flight has been made of the same data, so it is not older.
  /// - Parameter made: Whether it is out of date, and its date, if memory has no value.
  mutating func project(_ value: Value, for key: Key, made: CachedValue<Value>) {
    guard ending == nil else { return }
    var cached = made
    let old = held(key)
    if let old {
      cached = old
      cached.value = newest(old.value, value)
      // It is no longer out of date if it was because something was missing.
      cached.isInvalidated = made.isInvalidated
      if old.isPartial { cached.errors = [] }
    }
    if let entry = entries[key] {
      entry.version = nextNumber()
      entry.isLoaded = true
    }
    install(cached, for: key)
    publish(key)
  }

  /// Makes the value of a key as young as a response that another process has got; `project` shows it.
  mutating func makeYounger(_ key: Key, writtenAt date: StoreTime) {
    guard ending == nil, var cached = held(key), cached.writtenAt < date else { return }
    cached.writtenAt = date
    install(cached, for: key)
  }

  /// Marks the value of a key as out of date, since the shared data lack a part of it now, and requests it for those who
  /// watch it; returns whether a request was begun.
  mutating func lose(_ key: Key, requests: Bool) -> Bool {
    guard ending == nil, var cached = held(key) else { return false }
    let isNews = !cached.isInvalidated
    cached.isInvalidated = true
    install(cached, for: key)
    if requests, refetch(key) { return true }
    if isNews { publish(key) }
    return false
  }

  /// Notes that what memory has for a key is what the server has said just now, to a request of another key.
  mutating func confirm(_ key: Key, at now: StoreTime, isInvalidated: Bool, ifHeld isConfirmed: (Value) -> Bool) {
    guard ending == nil, var cached = held(key), !cached.isPartial, isConfirmed(cached.value) else { return }
    (cached.writtenAt, cached.isInvalidated) = (now, isInvalidated)
    entries[key]?.cached = cached
    // Nobody has used it.
    memory.modify(key) { $0 = cached }
    publish(key)
  }

  /// Forgets the value of a key, which the shared data have no longer and the server never had, and requests it for those
  /// who watch it.
  mutating func withdraw(_ key: Key) {
    guard ending == nil else { return }
    discard(memory.remove(key))
    forget(valueOf: key)
    if !refetch(key) { publish(key) }
  }

  /// Whether a key has watchers that would request it.
  func isRequestable(_ key: Key) -> Bool {
    entries[key]?.watchers.contains { $0.policy.networkFetch != .never && $0.policy.cachesResponse } ?? false
  }

  /// Drops the value of a key; returns `false`, and does nothing, if it is in use.
  mutating func drop(_ key: Key) -> Bool {
    if isInUse(key) { return false }
    forget(key)
    return true
  }
}

extension Store {
  /// Changes the state as a step that is made under another lock. What it replaces is added to `garbage`, to be released
  /// after that lock: the last release may run the user's code.
  func perform<Result>(
    in steps: Steps<Key, Value>, keeping garbage: inout [Any], _ change: (inout StoreState<Key, Value>) -> Result
  ) -> Result {
    state.withLockUnchecked { state in
      defer {
        steps.append(exchange(&state.effects, with: []))
        garbage += exchange(&state.garbage, with: [])
      }
      return change(&state)
    }
  }
}
