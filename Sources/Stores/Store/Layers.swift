/// An optimistic change that is shown on top of cached values until the server accepts or rejects it.
@usableFromInline
struct Layer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let id: UInt64

  /// The key it applies to; `nil` for all keys.
  @usableFromInline let key: Key?

  /// Whether changes of this kind are sent one after the other, so that each response is newer than the one before.
  let isInOrder: Bool

  /// The changed value; `nil` if the change does not affect it.
  @usableFromInline let apply: @Sendable (Key, Value?) -> Value?

  /// The keys whose cached values already include the change.
  @usableFromInline var committed: Set<Key> = []

  /// Whether the server has accepted the change, which is now becoming a part of cached values.
  var isCommitting = false

  @inlinable func concerns(_ key: Key) -> Bool {
    (self.key == nil || self.key == key) && !committed.contains(key)
  }
}

/// The layers of all changes in progress, indexed by key.
@usableFromInline
struct Layers<Key: Hashable & Sendable, Value: Sendable> {
  /// Sorted by id in each list; the list under `nil` applies to all keys.
  @usableFromInline var lists: [Key?: [Layer<Key, Value>]] = [:]
  private var keys: [UInt64: Key?] = [:]

  @inlinable var isEmpty: Bool { lists.isEmpty }

  /// The layers that apply to a key, in the order in which they were added.
  @inlinable
  func concerning(_ key: Key) -> [Layer<Key, Value>] {
    if isEmpty { return [] }
    let (ofKey, ofAll) = (lists[key] ?? [], lists[nil] ?? [])
    let layers = ofKey.isEmpty || ofAll.isEmpty ? ofKey + ofAll : (ofKey + ofAll).sorted { $0.id < $1.id }
    return layers.filter { $0.concerns(key) }
  }

  /// Adds a layer; its id must be greater than all before.
  mutating func add(_ layer: Layer<Key, Value>) {
    lists[layer.key, default: []].append(layer)
    keys[layer.id] = .some(layer.key)
  }

  mutating func remove(_ id: UInt64) -> Layer<Key, Value>? {
    guard let key = keys.removeValue(forKey: id), let place = lists[key]?.firstIndex(where: { $0.id == id }) else {
      return nil
    }
    let layer = lists[key]?.remove(at: place)
    if lists[key]?.isEmpty == true { lists[key] = nil }
    return layer
  }

  /// Records that a layer is being committed; returns `false` if it has been removed.
  mutating func beginCommit(of id: UInt64) -> Bool { modify(id) { $0.isCommitting = true } }

  func isCommitting(_ id: UInt64) -> Bool {
    guard let key = keys[id] else { return false }
    return lists[key]?.contains { $0.id == id && $0.isCommitting } ?? false
  }

  /// Records that the cached value of a key now includes a layer's change.
  mutating func markCommitted(_ id: UInt64, for key: Key) { _ = modify(id) { $0.committed.insert(key) } }

  private mutating func modify(_ id: UInt64, _ change: (inout Layer<Key, Value>) -> Void) -> Bool {
    guard let key = keys[id], let place = lists[key]?.firstIndex(where: { $0.id == id }) else { return false }
    change(&lists[key, default: []][place])
    return true
  }
}
