import Dispatch
import Streams
import SystemBase

extension TestScheduler {
  /// Runs async code in virtual time: before the clock moves, and before each job, everything that the code's tasks can
  /// do at the current time has been done, so that what they schedule takes its turn.
  ///
  ///     let user = try await scheduler.withTasks { time in
  ///       async let user = repository.getUser(id: "7").value     // the first attempt fails, the second comes in 2 s
  ///       await time.advance(by: .seconds(2))
  ///       return try await user
  ///     }
  ///
  /// The tasks that count are those of the body: itself, `async let`, task groups, and what streams make for
  /// `Observable.async` and `Observable.from`. They run one at a time. A `Task { }` does not inherit that; give it
  /// ``VirtualTime/executor``. What other threads do, such as those of real sockets, is not waited for.
  public func withTasks<Result: Sendable>(
    _ body: @escaping @Sendable (VirtualTime) async throws -> Result
  ) async rethrows -> Result {
    let executor = TestExecutor()
    return try await StreamTasks.$executor.withValue(executor) {
      try await withTaskExecutorPreference(executor) {
        try await body(VirtualTime(scheduler: self, testExecutor: executor))
      }
    }
  }

  /// The clock of a scheduler, for async code; see ``TestScheduler/withTasks(_:)``.
  public struct VirtualTime: Sendable {
    fileprivate let scheduler: TestScheduler
    fileprivate let testExecutor: TestExecutor

    /// Where the tasks run: `Task(executorPreference: time.executor) { … }`.
    public var executor: any TaskExecutor { testExecutor }

    /// Moves the clock on by `duration`, and runs everything that is due until then, each job at its own time, and after
    /// each what it lets tasks do.
    public func advance(by duration: Duration) async { await advance(to: scheduler.now + duration) }

    /// Moves the clock on to `time`, and runs everything that is due until then, each job at its own time, and after each
    /// what it lets tasks do.
    public func advance(to time: Duration) async {
      await settle()
      while scheduler.runNext(until: time) { await settle() }
      scheduler.advance(to: time)
    }

    /// Lets all tasks run until they wait for something.
    public func settle() async { await testExecutor.wait() }
  }
}

/// Runs tasks one at a time, and knows when all of them wait.
private final class TestExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var isBusy = false
    /// Those who wait until there is nothing to run.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "TestExecutor")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let begins = state.withLock { state in
      state.jobs.append(job)
      defer { state.isBusy = true }
      return !state.isBusy
    }
    if begins { queue.async { self.run() } }
  }

  private func run() {
    while true {
      let (job, idle) = state.withLock { state -> (UnownedJob?, CheckedContinuation<Void, Never>?) in
        if !state.jobs.isEmpty { return (state.jobs.removeFirst(), nil) }
        // One at a time: what it does next is to be done before the next one has its turn.
        if !state.waiting.isEmpty { return (nil, state.waiting.removeFirst()) }
        state.isBusy = false
        return (nil, nil)
      }
      if let job {
        job.runSynchronously(on: asUnownedTaskExecutor())
      } else if let idle {
        idle.resume()
      } else {
        return
      }
    }
  }

  /// Returns once there is nothing to run.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.isBusy { state.waiting.append(continuation) }
        return !state.isBusy
      }
      if isIdle { continuation.resume() }
    }
  }
}
