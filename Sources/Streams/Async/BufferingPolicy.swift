/// What a buffer does with elements that come faster than they are taken.
@frozen
public enum BufferingPolicy: Sendable, Hashable {
  /// Keeps all; memory is the only bound.
  case unbounded
  /// Keeps the oldest, at most so many, and drops what comes when it is full.
  case bufferingOldest(Int)
  /// Keeps the newest, at most so many, and drops the oldest when it is full.
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
