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
  @usableFromInline var settled: Set<Key> = []

  @inlinable func concerns(_ key: Key) -> Bool {
    (self.key == nil || self.key == key) && !settled.contains(key)
  }
}
