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
