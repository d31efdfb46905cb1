@preconcurrency public import Dispatch
import SystemBase

/// Runs work elsewhere, or later, by its own clock.
public protocol Scheduler: Sendable {
  /// The time by this scheduler's clock, counted from a fixed start. Must return at once: transports ask for it on
  /// threads that many requests share.
  var now: Duration { get }

  /// Runs `action` once, as soon as possible. Disposing the result before the action has begun prevents it.
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable

  /// Runs `action` once, after `delay`. Disposing the result before the action has begun prevents it. To the
  /// schedulers of this library, a delay of more than a hundred years is one of a hundred years.
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable
}

extension Scheduler {
  /// The time by this scheduler's clock at which `delay` is over.
  func time(after delay: Duration) -> Duration { now + delay.asDelay }
}

/// Runs work on a concurrent dispatch queue: several actions at a time, in no particular order. A stream that is
/// observed on it still keeps its order.
public struct ConcurrentScheduler: Scheduler {
  private let queue: DispatchQueue

  /// Runs work on `queue`.
  public init(queue: DispatchQueue = .global()) { self.queue = queue }

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` on the queue. The queue keeps the closure until its turn comes, even if it is disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    queue.schedule(after: delay, action)
  }
}

/// Runs work on a dispatch queue, one action at a time.
///
/// Each action takes a turn of its own, so that other work on the queue comes in between, however many actions wait.
public struct SerialScheduler: Scheduler {
  fileprivate static let onMain = SerialScheduler(queue: .main)
  private let queue: SerialQueue

  /// Runs work on `queue`, one action at a time even if the queue is concurrent. `schedule(_:)` keeps the order of its
  /// calls; delayed actions run in the order of their times.
  public init(queue: DispatchQueue) { self.queue = SerialQueue(target: queue) }

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` on the queue. The queue keeps the closure until its turn comes, even if it is disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    queue.schedule(after: delay, action)
  }
}

extension Scheduler where Self == SerialScheduler {
  /// Runs work on the main queue, one action at a time, as in `observe(on: .main)`. What is scheduled by
  /// work of that queue waits for its turn, too.
  public static var main: SerialScheduler { .onMain }
}

/// Runs work at once, on the caller's thread; delayed work runs on a global queue.
public struct ImmediateScheduler: Scheduler {
  /// An immediate scheduler; all are alike.
  public init() {}

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` before it returns.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return Disposables.create()
  }

  /// Runs `action` before it returns if `delay` is 0 or less, otherwise on a global queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    delay <= .zero ? schedule(action) : DispatchQueue.global().schedule(after: delay, action)
  }
}

/// Runs work on a dispatch queue, one piece at a time and in order.
///
/// Not a serial queue that targets the other one: Dispatch would run all of its work, and what comes meanwhile, before
/// it lets other work of the target proceed. Here each piece takes a turn of its own.
final class SerialQueue: WorkQueue {
  private let target: DispatchQueue
  private let state = Locked((waiting: Fifo<@Sendable () -> Void>(), isBusy: false))

  init(target: DispatchQueue) { self.target = target }

  func submit(_ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.waiting.append(work)
      return exchange(&state.isBusy, with: true) == false
    }
    if isFirst { takeTurn() }
  }

  private func takeTurn() {
    target.async {
      self.state.withLock { $0.waiting.popFirst() }?()
      let isOver = self.state.withLock { state in
        state.isBusy = !state.waiting.isEmpty
        return !state.isBusy
      }
      if !isOver { self.takeTurn() }
    }
  }
}

/// What the schedulers put their work on.
protocol WorkQueue: AnyObject, Sendable {
  /// Runs `work` when its turn comes.
  func submit(_ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: WorkQueue {
  func submit(_ work: @escaping @Sendable () -> Void) { async(execute: work) }
}

extension WorkQueue {
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let job = Lifetime()
    submit {
      if job.claim() { action() }
    }
    return job
  }

  /// Not `asyncAfter`, which would keep the closure until the time has come, even if it is disposed.
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    TimerQueue.shared.schedule(at: .now() + delay.dispatchInterval, on: self, action)
  }
}

extension Duration {
  /// The time since the machine booted.
  package static var uptime: Duration { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }

  /// The nearest delay from 0 to a hundred years, which can be added to a clock's time.
  package var asDelay: Duration { min(max(self, .zero), .seconds(3_155_760_000)) }

  /// The delay, as Dispatch has it.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = asDelay.components
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }
}
