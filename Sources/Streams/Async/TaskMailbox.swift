import SystemBase

/// Runs a source's deliveries on the task that awaits the stream's value.
///
/// A source that would otherwise need a thread of its own asks for `current` when it is subscribed to: if a task is
/// awaiting, that task can do the work, and has to be woken anyway. Jobs run one at a time, in the order in which they
/// were submitted.
///
/// The task may be busy, or may end before it gets to a job. A source takes a job that has not begun in time back, and
/// runs it elsewhere.
@usableFromInline
package struct TaskMailbox: Sendable {
  /// The mailbox of the task that is subscribing on this thread; `nil` if no task awaits.
  @TaskLocal package static var current: TaskMailbox?

  /// A job for the task. It is a class, since a closure would be wrapped on its way to the task.
  package protocol Job: AnyObject, Sendable {
    func run()
  }

  private struct State {
    var jobs = Fifo<any Job>()
    var waiter: UnsafeContinuation<(any Job)?, Never>?
    var isClosed = false
  }

  private let state = Locked(State())

  @usableFromInline package init() {}

  /// Hands a job to the task. Returns false if the task no longer awaits.
  package func submit(_ job: any Job) -> Bool {
    let (isOpen, waiter) = state.withLock { state in
      let waiter = exchange(&state.waiter, with: nil)
      if waiter == nil, !state.isClosed { state.jobs.append(job) }
      return (!state.isClosed, waiter)
    }
    waiter?.resume(returning: job)
    return isOpen
  }

  /// Ends the wait.
  package func close() {
    let (waiter, jobs) = state.withLock { state in
      state.isClosed = true
      return (exchange(&state.waiter, with: nil), exchange(&state.jobs, with: Fifo()))
    }
    // Released here, outside the lock: the jobs may hold the user's objects.
    withExtendedLifetime(jobs) {}
    waiter?.resume(returning: nil)
  }

  /// Subscribes, and runs submitted jobs until the mailbox is closed.
  @usableFromInline
  package func run(_ subscribe: () -> Void) async {
    await Self.$current.withValue(self) {
      subscribe()
      while let job = await next() { job.run() }
    }
  }

  private func next() async -> (any Job)? {
    await withUnsafeContinuation { continuation in
      let (job, isWaiting) = state.withLock { state -> ((any Job)?, Bool) in
        if state.isClosed { return (nil, false) }
        if let job = state.jobs.popFirst() { return (job, false) }
        state.waiter = continuation
        return (nil, true)
      }
      if !isWaiting { continuation.resume(returning: job) }
    }
  }
}
