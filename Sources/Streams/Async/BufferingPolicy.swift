/// What a buffer does with elements that arrive faster than they are taken.
@frozen
public enum BufferingPolicy: Sendable, Hashable {
  /// Keeps all elements; only memory limits them.
  case unbounded
  /// Keeps the oldest elements, up to this number, and drops new ones while it is full.
  case bufferingOldest(Int)
  /// Keeps the newest elements, up to this number, and drops the oldest when it is full.
  case bufferingNewest(Int)

  @inlinable var keepsNewest: Bool {
    if case .bufferingNewest = self { true } else { false }
  }

  @inlinable func isFull(_ count: Int) -> Bool {
    switch self {
    case .unbounded: false
    case .bufferingOldest(let limit), .bufferingNewest(let limit): count >= limit
    }
  }
}
