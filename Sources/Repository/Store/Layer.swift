/// A change that is shown over what is kept, until the server has said yes or no to it.
@usableFromInline
struct Layer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let id: UInt64

  /// The one key it is for; `nil` for all keys.
  @usableFromInline let key: Key?

  /// Whether changes of its kind are sent one after the other, so that each answer is newer than the last.
  let isInOrder: Bool

  /// What a value becomes; `nil` where the change does not touch it.
  @usableFromInline let apply: @Sendable (Key, Value?) -> Value?

  /// The keys in whose kept values the change is already.
  @usableFromInline var settled: Set<Key> = []

  @inlinable func concerns(_ key: Key) -> Bool {
    (self.key == nil || self.key == key) && !settled.contains(key)
  }
}
