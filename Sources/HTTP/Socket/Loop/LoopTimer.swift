import Streams

/// A timer of a loop, used only on the loop's thread.
final class LoopTimer: HeapElement {
  let instant: Instant
  let action: () -> Void
  var place: Int?
  /// Tells apart timers of the same time, which fire in the order in which they were set.
  private let number: UInt64

  init(_ instant: Instant, number: UInt64, _ action: @escaping () -> Void) {
    self.instant = instant
    self.number = number
    self.action = action
  }

  func isBefore(_ other: LoopTimer) -> Bool { (instant, number) < (other.instant, other.number) }
}
