/// The state of a key that is in use: watched, read or requested. Accessed only under the store's lock.
@usableFromInline
final class StoreEntry<Key: Hashable & Sendable, Value: Sendable> {
  @usableFromInline var kept: CachedValue<Value>?
  /// Whether the source of truth was read, or need not be.
  var isLoaded: Bool
  /// The number of the latest write.
  @usableFromInline var version: UInt64
  /// The number of the latest write of a complete value, or removal; a local change does not count.
  @usableFromInline var replacedAt: UInt64 = 0
  @usableFromInline var fetch: Fetch<Key, Value>?
  /// The errors of the latest request, and their number.
  @usableFromInline var errors: [any Error] = []
  @usableFromInline var failure: UInt64 = 0
  /// Whether the latest request failed without a response.
  @usableFromInline var hasFailed = false
  /// In the order of their ids.
  var watchers: [Watcher<Key, Value>] = []
  var uses = 0

  init(kept: CachedValue<Value>?, isLoaded: Bool, version: UInt64) {
    self.kept = kept
    self.isLoaded = isLoaded
    self.version = version
  }
}

/// Everything that can be shown for a key, taken at one moment.
@usableFromInline
struct KeyState<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let key: Key
  @usableFromInline var kept: CachedValue<Value>?
  @usableFromInline var layers: [Layer<Key, Value>]
  @usableFromInline var source: SnapshotSource
  @usableFromInline var errors: [any Error]
  @usableFromInline var isFetching: Bool
  /// The number of the latest write.
  @usableFromInline var version: UInt64
  /// The number of the latest write that replaced the value, rather than changing it.
  @usableFromInline var replacedAt: UInt64
  /// The number of the latest failure.
  @usableFromInline var failure: UInt64
  /// Whether the latest request failed without a response.
  @usableFromInline var hasFailed: Bool

  @inlinable init(
    key: Key, kept: CachedValue<Value>?, layers: [Layer<Key, Value>], source: SnapshotSource,
    entry: StoreEntry<Key, Value>?
  ) {
    self.key = key
    self.kept = kept
    self.layers = layers
    self.source = source
    errors = entry?.errors ?? []
    isFetching = entry?.fetch != nil
    version = entry?.version ?? 0
    replacedAt = entry?.replacedAt ?? 0
    failure = entry?.failure ?? 0
    hasFailed = entry?.hasFailed ?? false
  }

  /// The cached value, or `base`, with the layers applied. Calls the user's closures, so it must not be called under a
  /// lock.
  @inlinable
  func rendered(over base: Value? = nil) -> (value: Value?, layers: [UInt64]) {
    var value = base ?? kept?.value
    var applied: [UInt64] = []
    for layer in layers {
      guard let changed = layer.apply(key, value) else { continue }
      value = changed
      applied.append(layer.id)
    }
    return (value, applied)
  }

  @inlinable
  func snapshot(
    _ rendered: (value: Value?, layers: [UInt64]), freshness: Freshness, now: StoreTime
  ) -> Snapshot<Value> {
    guard rendered.value != nil else { return empty }
    var snapshot = empty
    snapshot.value = rendered.value
    snapshot.source = rendered.layers.isEmpty ? source : .optimistic
    snapshot.stamp = SnapshotStamp(version: kept == nil ? 0 : version, layers: rendered.layers)
    if let kept {
      snapshot.age = max(.zero, now - kept.writtenAt)
      snapshot.isStale = freshness.isStale(kept, now: now)
      snapshot.isPartial = kept.isPartial
      if kept.isPartial { snapshot.errors += kept.errors }
    }
    return snapshot
  }

  /// A snapshot without a value.
  @inlinable var empty: Snapshot<Value> { Snapshot(value: nil, errors: errors, isFetching: isFetching) }
}
