package import Dispatch

/// Threads for work that may block: each job runs on one of them, several at a time, in no particular order.
///
/// Dispatch's threads would not do. It has 255 in a process for queues of one's own: once as many block, nothing else
/// runs on such a queue, no timer either. Those of `global()` are as many as there are processors, and Swift's tasks run
/// on them.
///
/// A thread without a job waits for another one for some seconds, since starting a thread costs more than waking it.
package final class ThreadPool: Sendable {
  package typealias ThreadStarter = @Sendable (_ body: @escaping @Sendable () -> Void) throws(SystemError) -> Void

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

  /// How long jobs wait, none of which begins, before there are more threads.
  private static let patience = DispatchTimeInterval.milliseconds(20)

  private let limit: Int
  private let eagerCount: Int
  private let idleTime: DispatchTimeInterval
  private let startThread: ThreadStarter
  private let state = Locked(State())
  private let hasJob = DispatchSemaphore(value: 0)
  // A serial queue has a thread beside those of `global()`.
  private let watcher: DispatchQueue

  /// - Parameters:
  ///   - name: The threads' name.
  ///   - limit: The greatest number of threads.
  ///   - eagerCount: How many threads are started at once when a job finds none free: all of them, unless given. Further
  ///     ones are started while those are stuck: for a job that has waited for 20 milliseconds in which no other has begun.
  ///   - idleTime: How long a thread waits for another job before it ends.
  ///   - startThread: Starts a thread; what it refuses is tried again.
  package init(
    named name: String, limit: Int, eagerCount: Int? = nil, idleTime: DispatchTimeInterval = .seconds(10),
    startThread: @escaping ThreadStarter
  ) {
    self.limit = limit
    self.eagerCount = min(eagerCount ?? limit, limit)
    self.idleTime = idleTime
    self.startThread = startThread
    watcher = DispatchQueue(label: name)
  }

  /// Starts its threads with the system's settings.
  package convenience init(named name: String, limit: Int, eagerCount: Int? = nil) {
    self.init(named: name, limit: limit, eagerCount: eagerCount) { body throws(SystemError) in
      try SystemBase.startThread(named: name, body)
    }
  }

  /// How many threads there are.
  package var threadCount: Int { state.withLock { $0.threads } }

  /// How many of them wait for a job, or have just been woken for one.
  package var idleCount: Int { state.withLock { $0.idle } }

  /// Runs a job soon, on a thread of the pool.
  package func run(_ job: @escaping @Sendable () -> Void) {
    let step = state.withLock { state -> Step in
      state.jobs.append(job)
      if state.jobs.count <= state.idle { return .wake }
      if state.threads < eagerCount {
        state.threads += 1
        return .start
      }
      // One that has finished its job takes the next.
      if state.threads >= limit { return .wait }
      return exchange(&state.isWatched, with: true) ? .wait : .watch
    }
    switch step {
    case .wake: hasJob.signal()
    case .start: startThreads(1)
    case .watch: watch()
    case .wait: break
    }
  }

  /// Starts threads that are counted already.
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
    watcher.asyncAfter(deadline: .now() + Self.patience) { self.look() }
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
    while let job = nextJob() { job() }
  }

  /// The next job, which may have to be waited for; `nil` if the thread is to end.
  private func nextJob() -> (@Sendable () -> Void)? {
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
