import Dispatch
import SystemBase

/// Runs work that may block, on threads of its own: several actions at a time, in no particular order.
///
/// There are as many threads as processors, and more of them while those are stuck: an action that has waited for 20
/// milliseconds, in which no other has begun, gets another thread, up to 2048 in a process. The threads of
/// `DispatchQueue.global()` would not do: they are about as many as processors, too, and Swift's tasks run on them.
public struct ElasticScheduler: Scheduler {
  private static let queue = ElasticQueue(limit: 2048)

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

/// Work that waits for a thread. A thread without work waits for some for a while, since to start one costs more than to
/// wake one.
final class ElasticQueue: WorkQueue {
  private struct State {
    var jobs = Fifo<@Sendable () -> Void>()
    var threads = 0
    /// The threads that wait for a job, or have just been woken.
    var idle = 0
    /// How many jobs have begun so far, and how many had at the last look.
    var begun = 0
    var seen = 0
    var isWatched = false

    mutating func takeJob() -> (@Sendable () -> Void)? {
      let job = jobs.popFirst()
      if job != nil { begun &+= 1 }
      return job
    }
  }

  private enum Step {
    case wake, start, watch, wait
  }

  typealias ThreadStarter = @Sendable (_ body: @escaping @Sendable () -> Void) throws(SystemError) -> Void

  private static let patience = DispatchTimeInterval.milliseconds(20)
  private let processors = max(ProcessInfo.processInfo.activeProcessorCount, 2)
  private let limit: Int
  private let idleTime: DispatchTimeInterval
  private let startThread: ThreadStarter
  private let state = Locked(State())
  private let hasJob = DispatchSemaphore(value: 0)
  // A serial queue has a thread beside those of `global()`.
  private let watcher = DispatchQueue(label: "Streams.ElasticQueue")

  init(
    limit: Int, idleTime: DispatchTimeInterval = .seconds(10),
    startThread: @escaping ThreadStarter = { body throws(SystemError) in
      try SystemBase.startThread(named: "ElasticQueue", body)
    }
  ) {
    self.limit = limit
    self.idleTime = idleTime
    self.startThread = startThread
  }

  var threadCount: Int { state.withLock { $0.threads } }

  func submit(_ work: @escaping @Sendable () -> Void) {
    let step = state.withLock { state -> Step in
      state.jobs.append(work)
      if state.jobs.count <= state.idle { return .wake }
      if state.threads < min(processors, limit) {
        state.threads += 1
        return .start
      }
      return exchange(&state.isWatched, with: true) ? .wait : .watch
    }
    switch step {
    case .wake: hasJob.signal()
    case .start: startThreads(1)
    case .watch: watch()
    case .wait: break
    }
  }

  /// Starts threads that are counted already. What the system refuses is tried again at the next look.
  private func startThreads(_ count: Int) {
    for started in 0..<count {
      do throws(SystemError) {
        try startThread { self.work() }
      } catch {
        let isWatched = state.withLock { state in
          state.threads -= count - started
          return exchange(&state.isWatched, with: true)
        }
        return isWatched ? () : watch()
      }
    }
  }

  private func watch() {
    _ = TimerQueue.shared.schedule(at: .now() + Self.patience, on: watcher) { self.look() }
  }

  /// Starts threads if no job has begun since the last look: each time as many as there are already, so that there are
  /// soon enough for any number of jobs that block.
  private func look() {
    let count = state.withLock { state -> Int? in
      guard !state.jobs.isEmpty else {
        state.isWatched = false
        return nil
      }
      guard exchange(&state.seen, with: state.begun) == state.begun else { return 0 }
      let count = min(max(state.threads, 1), state.jobs.count, limit - state.threads)
      state.threads += count
      return count
    }
    guard let count else { return }
    startThreads(count)
    watch()
  }

  private func work() {
    while let job = next() { job() }
  }

  /// The next job, which may have to be waited for; `nil` if the thread is to end.
  private func next() -> (@Sendable () -> Void)? {
    let job = state.withLock { state in
      let job = state.takeJob()
      if job == nil { state.idle += 1 }
      return job
    }
    if let job { return job }
    while true {
      let isOver = hasJob.wait(timeout: .now() + idleTime) == .timedOut
      let (job, isDone) = state.withLock { state in
        let job = state.takeJob()
        let isDone = job == nil && isOver
        if job != nil || isDone { state.idle -= 1 }
        if isDone { state.threads -= 1 }
        return (job, isDone)
      }
      if job != nil || isDone { return job }
    }
  }
}
