/// A cached value and its metadata.
@usableFromInline
struct CachedValue<Value: Sendable>: Sendable {
  @usableFromInline var value: Value
  @usableFromInline var writtenAt: StoreTime
  @usableFromInline var readAt: StoreTime
  /// What is missing from a partial response; empty for a complete one.
  @usableFromInline var errors: [any Error] = []
  @usableFromInline var isInvalidated = false
  var cost = 1

  /// A partial value is kept only while there is no complete one, and never on disk.
  @inlinable var isPartial: Bool { !errors.isEmpty }

  init(_ value: Value, writtenAt: StoreTime, cost: Int = 1) {
    self.value = value
    self.writtenAt = writtenAt
    readAt = writtenAt
    self.cost = cost
  }
}
