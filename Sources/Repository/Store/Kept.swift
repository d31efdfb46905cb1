/// A value with what has to be known of it.
struct Kept<Value: Sendable>: Sendable {
  var value: Value
  var writtenAt: StoreTime
  var readAt: StoreTime
  /// What is missing from a partial answer; none for a complete one.
  var errors: [any Error] = []
  /// A value that may stand only where there is no better one, and never on disk.
  var isPartial = false
  var isInvalidated = false
  var cost = 1

  init(_ value: Value, writtenAt: StoreTime, cost: Int = 1) {
    self.value = value
    self.writtenAt = writtenAt
    readAt = writtenAt
    self.cost = cost
  }
}
