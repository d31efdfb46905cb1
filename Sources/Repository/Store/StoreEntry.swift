/// What a store knows of a key that somebody uses: watches, reads, or asks for. Touched under the store's lock alone.
@usableFromInline
final class StoreEntry<Key: Hashable & Sendable, Value: Sendable> {
  let channel = Channel<Key, Value>()
  @usableFromInline var kept: CachedValue<Value>?
  /// Whether the source of truth was asked, or need not be.
  var isLoaded: Bool
  /// The number of the latest write.
  @usableFromInline var version: UInt64
  /// The number of the latest write of a whole value, or removal: a change of what was there does not count.
  @usableFromInline var replacedAt: UInt64 = 0
  @usableFromInline var fetch: Fetch<Key, Value>?
  /// What is wrong with the latest request, and the number of that.
  @usableFromInline var errors: [any Error] = []
  @usableFromInline var failure: UInt64 = 0
  /// Whether the latest request gave no answer at all.
  @usableFromInline var hasFailed = false
  var watchers: [UInt64: FetchPolicy] = [:]
  var uses = 0

  init(kept: CachedValue<Value>?, isLoaded: Bool, version: UInt64) {
    self.kept = kept
    self.isLoaded = isLoaded
    self.version = version
  }
}
