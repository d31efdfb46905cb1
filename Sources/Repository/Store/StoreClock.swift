public import Streams

/// Tells a store the time: the system's wall clock, or that of a scheduler, which a test can move.
public struct StoreClock: Sendable {
  @usableFromInline let time: @Sendable () -> StoreTime

  /// A clock that calls a closure, on any thread.
  public init(_ time: @escaping @Sendable () -> StoreTime) {
    self.time = time
  }

  /// The system's wall clock.
  public static let system = StoreClock { StoreTime.now() }

  /// A clock that follows a scheduler, and reads `start` at the scheduler's time zero.
  public static func scheduler(
    _ scheduler: some Scheduler, start: StoreTime = StoreTime(microseconds: 0)
  ) -> StoreClock {
    StoreClock { start + scheduler.now }
  }

  /// The time now.
  @inlinable public var now: StoreTime { time() }
}
