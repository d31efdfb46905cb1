/// Counts.
final class Counter: Sendable {
  private let value = Locked(0)
  var count: Int { value.withLock { $0 } }
  func increment() { value.withLock { $0 += 1 } }
  func decrement() { value.withLock { $0 -= 1 } }
}
