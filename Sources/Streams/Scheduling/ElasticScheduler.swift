import Dispatch
import SystemBase

/// Runs work that may block, on threads of its own: several actions at a time, in no particular order.
///
/// There are as many threads as processors, and more of them while those are stuck: an action that has waited for 20
/// milliseconds, in which no other has begun, gets another thread, up to 2048 in a process. The threads of
/// `DispatchQueue.global()` would not do: they are about as many as processors, too, and Swift's tasks run on them.
public struct ElasticScheduler: Scheduler {
  private static let queue = ThreadPool(
    named: "ElasticQueue", limit: 2048, eagerCount: max(ProcessInfo.processInfo.activeProcessorCount, 2))

  /// An elastic scheduler; all of them share their threads.
  public init() {}

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` as soon as there is a thread. The queue keeps the closure until its turn comes, even if it is
  /// disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { Self.queue.schedule(action) }

  /// Runs `action` after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    Self.queue.schedule(after: delay, action)
  }
}

extension ThreadPool: WorkQueue {
  func submit(_ work: @escaping @Sendable () -> Void) { run(work) }
}
