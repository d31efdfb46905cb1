public import Streams
import SystemBase

/// A scheduler whose clock stands still until a test moves it, so tests need not wait.
///
///     let scheduler = TestScheduler()
///     let source = scheduler.cold("-a-b-----c|")
///     let observer = scheduler.observe(source.asObservable().debounce(.seconds(2), scheduler: scheduler))
///     scheduler.run()
///     #expect(observer.difference(from: "-----b----(c|)") == nil)
///
/// Work runs inside `advance` and `run`, on the calling thread, ordered by time and then by the order of scheduling.
/// Any thread may schedule. Where code under test is async, move the clock inside ``withTasks(_:)``: whether a task has
/// come to schedule its work is otherwise a matter of luck.
public final class TestScheduler: Scheduler {
  private struct Job {
    let due: Duration
    let number: Int
    let action: @Sendable () -> Void
    /// What the caller has to dispose the job; a bag releases it once it is disposed.
    let handle: any Disposable
  }

  private struct State {
    var now: Duration = .zero
    var count = 0
    /// Sorted by time, then by number.
    var jobs: [Job] = []
    /// Hot streams: a subject that went away would dispose its subscriptions.
    var subjects: [any Sendable] = []

    /// The index of the job with this time and number, or of the first job after it.
    func place(due: Duration, number: Int) -> Int {
      jobs.partitioningIndex { ($0.due, $0.number) >= (due, number) }
    }
  }

  /// The time that one character of a marble string takes.
  public let frame: Duration
  private let state = Locked(State())

  /// A scheduler at time 0, on which one character of a marble string takes `frame`.
  /// - Precondition: `frame` is more than 0.
  public init(frame: Duration = .seconds(1)) {
    precondition(frame > .zero, "A frame takes time.")
    self.frame = frame
  }

  /// The time to which the test has moved the clock.
  public var now: Duration { state.withLock { $0.now } }

  /// The number of jobs that wait and have not been disposed: 0 at the end of a test that leaves nothing behind.
  public var pendingCount: Int { state.withLock { $0.jobs.count } }

  /// Runs `action` in the next `advance` or `run`, at the current time.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(after: .zero, action) }

  /// Runs `action` when the clock reaches the current time plus `delay`. A delay of more than a hundred years is one of a
  /// hundred years.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    state.withLock { state in
      state.count += 1
      let (due, number) = (state.now + delay.asDelay, state.count)
      // Weak, since the scheduler keeps the job.
      let handle = Disposables.create { [weak self] in self?.remove(due: due, number: number) }
      let job = Job(due: due, number: number, action: action, handle: handle)
      state.jobs.insert(job, at: state.place(due: due, number: number))
      return handle
    }
  }

  /// Moves the clock on by `duration`, and runs everything that is due until then, each job at its own time.
  public func advance(by duration: Duration) { advance(to: now + duration) }

  /// Moves the clock on to `time`, and runs everything that is due until then, each job at its own time.
  public func advance(to time: Duration) {
    while runNext(until: time) {}
    state.withLock { $0.now = max($0.now, time) }
  }

  /// Runs all waiting jobs, and those that they schedule, moving the clock from one to the next. It never returns if
  /// jobs keep scheduling more jobs: use `advance` for that.
  public func run() {
    while runNext(until: nil) {}
  }

  /// Keeps a hot stream for as long as its clock.
  func keep(_ subject: some Sendable) { state.withLock { $0.subjects.append(subject) } }

  func runNext(until limit: Duration?) -> Bool {
    let job = state.withLock { state -> Job? in
      guard let first = state.jobs.first, first.due <= limit ?? first.due else { return nil }
      state.now = max(state.now, first.due)
      return state.jobs.removeFirst()
    }
    guard let job else { return false }
    job.action()
    job.handle.dispose()
    return true
  }

  /// The job is returned out of the lock, so that its closure is released outside.
  private func remove(due: Duration, number: Int) {
    let job = state.withLock { state -> Job? in
      let place = state.place(due: due, number: number)
      guard state.jobs.indices.contains(place), state.jobs[place].number == number else { return nil }
      return state.jobs.remove(at: place)
    }
    withExtendedLifetime(job) {}
  }
}
