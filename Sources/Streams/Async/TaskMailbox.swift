/// Brings what a stream's source has to say to the task that awaits the stream's value, so that it is said there.
///
/// A source that would need a thread to speak on asks for `current` when it is subscribed to: where a task awaits, that
/// task can do the work, and has to be woken anyway. Jobs run one at a time, in the order in which they came.
///
/// The task may be busy, or go before it comes to a job: a job that was not begun in good time is the source's again, to
/// be run elsewhere.
@usableFromInline
package struct TaskMailbox: Sendable {
  /// The mailbox of the task that is subscribing on this thread; `nil` where none awaits.
  @TaskLocal package static var current: TaskMailbox?

  /// What a task is to do. An object, as a closure would be wrapped on its way to the task.
  package protocol Job: AnyObject, Sendable {
    func run()
  }

  private struct State {
    var jobs = Fifo<any Job>()
    var waiter: UnsafeContinuation<(any Job)?, Never>?
    var isClosed = false
  }

  private let state = Guarded(State())

  @usableFromInline package init() {}

  /// Hands a job to the task; false where it awaits no longer.
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
    // Dropped here, and not under the lock: what they hold may be the user's.
    _ = jobs
    waiter?.resume(returning: nil)
  }

  /// Subscribes, and runs the jobs that come until the mailbox is closed.
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
