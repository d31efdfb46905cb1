/// A value as a source of truth keeps it.
public struct StoredValue<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value

  /// When the server returned it, or it was saved.
  public var writtenAt: StoreTime

  /// Whether it has been invalidated since.
  public var isInvalidated: Bool

  /// Makes a value to be stored.
  public init(_ value: Value, writtenAt: StoreTime, isInvalidated: Bool = false) {
    self.value = value
    self.writtenAt = writtenAt
    self.isInvalidated = isInvalidated
  }
}

extension StoredValue: Equatable where Value: Equatable {}

extension CachedValue {
  init(_ stored: StoredValue<Value>, cost: Int) {
    self.init(stored.value, writtenAt: stored.writtenAt, cost: cost)
    isInvalidated = stored.isInvalidated
  }

  var stored: StoredValue<Value> {
    StoredValue(value, writtenAt: writtenAt, isInvalidated: isInvalidated)
  }
}
