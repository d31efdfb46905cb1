@preconcurrency public import Dispatch
import SystemBase

/// Waits by a `Clock`, and runs work on a concurrent dispatch queue.
///
///     stream.timeout(.seconds(5), scheduler: ClockScheduler(SuspendingClock()))
///
/// Time is the clock's own, so that a test's clock also moves streams, and a `SuspendingClock` does not count the time
/// that the machine sleeps. Each delayed action costs a task that sleeps; where the clock does not matter,
/// ``ConcurrentScheduler`` is cheaper. As with that one, actions run several at a time and may block, and a stream that
/// is observed on this scheduler keeps its order.
public struct ClockScheduler<C: Clock>: Scheduler where C.Duration == Duration {
  private let clock: C
  private let start: C.Instant
  private let tolerance: Duration?
  private let queue: DispatchQueue

  /// Waits by `clock`, up to `tolerance` longer than asked for if the clock saves energy that way, and runs work on
  /// `queue`.
  public init(_ clock: C, tolerance: Duration? = nil, queue: DispatchQueue = .global()) {
    self.clock = clock
    self.start = clock.now
    self.tolerance = tolerance
    self.queue = queue
  }

  /// The time by the clock since the scheduler was made.
  public var now: Duration { start.duration(to: clock.now) }

  /// Runs `action` on the queue. The queue keeps the closure until its turn comes, even if it is disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue after `delay` by the clock. Disposing the result releases `action` and cancels the
  /// clock's sleep. If the clock ends a sleep early by an error of its own, `action` runs then.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    guard delay > .zero else { return schedule(action) }
    // Counted from now, not from when the task begins.
    let deadline = clock.now.advanced(by: delay.asDelay)
    let waiting = Locked<(@Sendable () -> Void)?>(action)
    // A lifetime, so that a bag releases it when the action has run.
    let job = Lifetime()
    // Detached, so that the sleep keeps none of the caller's task-local values.
    let sleep = Task.detached { [clock, tolerance, queue] in
      try? await clock.sleep(until: deadline, tolerance: tolerance)
      if Task.isCancelled { return }
      queue.submit {
        guard job.claim() else { return }
        waiting.withLock { exchange(&$0, with: nil) }?()
        job.close()
      }
    }
    job.add(
      ClosureNode {
        withExtendedLifetime(waiting.withLock { exchange(&$0, with: nil) }) {}
        sleep.cancel()
      })
    return job
  }
}
