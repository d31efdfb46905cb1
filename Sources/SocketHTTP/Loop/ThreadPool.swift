import Dispatch
import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// Threads for work that may block, such as observers and the system's look-ups: each job has a thread to itself, up to
/// a limit, and waits for one beyond that.
///
/// Dispatch's threads would not do. It has 255 in a process for queues of one's own: once as many block, nothing else
/// runs on such a queue, no timer either. Those of `global()` are as many as there are processors, and Swift's tasks
/// run on them.
///
/// A thread without a job waits for another one for some seconds, since starting a thread costs more than waking it.
final class ThreadPool: Sendable {
  /// For whatever blocks for longer than a look-up is expected to.
  static let shared = ThreadPool(limit: 2048)

  private struct State {
    var jobs = Fifo<@Sendable () -> Void>()
    var threads = 0
    /// The threads that wait for a job, or have just been woken.
    var idle = 0
  }

  private static let longestWait = DispatchTimeInterval.seconds(10)
  private let limit: Int
  private let state = Locked(State())
  private let hasJob = DispatchSemaphore(value: 0)

  /// Takes the number of threads at most.
  init(limit: Int) {
    self.limit = limit
  }

  /// How many threads there are.
  var count: Int { state.withLock { $0.threads } }

  private enum Step {
    case wake, start, wait
  }

  /// Runs a job soon, on a thread of the pool.
  func run(_ job: @escaping @Sendable () -> Void) {
    let step = state.withLock { state -> Step in
      state.jobs.append(job)
      if state.jobs.count <= state.idle { return .wake }
      // One that has finished its job takes the next.
      if state.threads >= limit { return .wait }
      state.threads += 1
      return .start
    }
    switch step {
    case .wake: hasJob.signal()
    case .start: start()
    case .wait: break
    }
  }

  private func start() {
    do throws(SystemError) {
      try startThread(named: "HTTPWorker") { [self] in work() }
    } catch {
      // Dispatch may still have a thread, and otherwise tries again until the system gives it one.
      DispatchQueue.unshared().async { [self] in work() }
    }
  }

  private func work() {
    while let job = nextJob() { job() }
  }

  /// The next job, which may have to be waited for; `nil` if the thread is to end.
  private func nextJob() -> (@Sendable () -> Void)? {
    let job = state.withLock { state in
      let job = state.jobs.popFirst()
      if job == nil { state.idle += 1 }
      return job
    }
    if let job { return job }
    while true {
      let isOver = hasJob.wait(timeout: .now() + Self.longestWait) == .timedOut
      let (job, goesOn) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
        let job = state.jobs.popFirst()
        let isDone = job == nil && isOver
        if job != nil || isDone { state.idle -= 1 }
        if isDone { state.threads -= 1 }
        return (job, !isDone)
      }
      if job != nil || !goesOn { return job }
    }
  }
}

/// Whether this process is the child of a `fork` in a process in which a transport ran: it has none of its parent's
/// threads, and shares its connections.
enum ForkedProcess {
  private static let isChildFlag = Atomic(false)
  private static let watching: Void = {
    _ = isChild  // made now: a child must not make anything
    pthread_atfork(nil, nil) { ForkedProcess.isChildFlag.store(true, ordering: .relaxed) }
  }()

  static var isChild: Bool { isChildFlag.load(ordering: .relaxed) }

  /// Makes the children of forks from now on know what they are.
  static func watch() { watching }
}

extension RequestError {
  /// The error for a request in a forked process.
  static let afterFork = RequestError(
    .forkedProcess,
    """
    This process was forked from one in which a transport had run, and has none of its threads: start processes with \
    posix_spawn, exec or Foundation's Process, or fork before the first request.
    """)
}

extension DispatchQueue {
  /// A queue for work that is not to wait for that of others, as on the threads of `global()`, which are as many as
  /// there are processors: Dispatch gives it a thread of its own, up to 255 in a process. For work that may block there
  /// is ``ThreadPool``.
  static func unshared() -> DispatchQueue { DispatchQueue(label: "SocketTransport") }
}
