public import Streams

/// An event, and the time at which it came.
public struct Recorded<Element: Sendable>: Sendable {
  /// The time by the scheduler's clock.
  public let time: Duration
  /// The event.
  public let event: Event<Element>

  /// `event` at `time`.
  public init(_ time: Duration, _ event: Event<Element>) {
    self.time = time
    self.event = event
  }
}

extension Recorded: Equatable where Element: Equatable {
  /// Whether time and event are equal. Two errors are equal if their descriptions are.
  public static func == (left: Recorded, right: Recorded) -> Bool {
    guard left.time == right.time else { return false }
    return switch (left.event, right.event) {
    case (.next(let left), .next(let right)): left == right
    case (.error(let left), .error(let right)): String(describing: left) == String(describing: right)
    case (.completed, .completed): true
    default: false
    }
  }
}
