public import Streams

/// A scheduler whose clock stands still until a test moves it: time is a value, and nothing waits.
///
///     let scheduler = TestScheduler()
///     let source = scheduler.cold("-a-b-----c|")
///     let observer = scheduler.observe(source.asObservable().debounce(.seconds(2), scheduler: scheduler))
///     scheduler.run()
///     #expect(observer.difference(from: "-----b----(c|)") == nil)
///
/// Work runs inside `advance` and `run`, on the thread that calls them, in the order of its time and then of being given.
/// Any thread may schedule.
public final class TestScheduler: Scheduler {
  private struct Job {
    let due: Duration
    let number: Int
    let action: @Sendable () -> Void
  }

  private struct State {
    var now: Duration = .zero
    var count = 0
    /// By their time, and then by their number.
    var jobs: [Job] = []

    /// The place of the first job that is due at `due` and has `number`, or comes after that.
    func place(due: Duration, number: Int) -> Int {
      var places = 0..<jobs.count
      while !places.isEmpty {
        let middle = (places.lowerBound + places.upperBound) / 2
        let isBefore = (jobs[middle].due, jobs[middle].number) < (due, number)
        places = isBefore ? middle + 1..<places.upperBound : places.lowerBound..<middle
      }
      return places.lowerBound
    }
  }

  /// The time that one character of a marble string stands for.
  public let frame: Duration
  private let state = Guarded(State())

  /// A scheduler at time 0, on which one character of a marble string lasts `frame`.
  public init(frame: Duration = .seconds(1)) { self.frame = frame }

  /// The time that the test has moved the clock to.
  public var now: Duration { state.withLock { $0.now } }

  /// The number of jobs that wait and were not disposed: 0 at the end of a test that left nothing behind.
  public var pendingCount: Int { state.withLock { $0.jobs.count } }

  /// Runs `action` at the next `advance` or `run`, at the present time.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(after: .zero, action) }

  /// Runs `action` when the clock has come to the present time and `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    let (due, number) = state.withLock { state in
      state.count += 1
      let job = Job(due: state.now + max(delay, .zero), number: state.count, action: action)
      state.jobs.insert(job, at: state.place(due: job.due, number: job.number))
      return (job.due, job.number)
    }
    return Disposables.create { self.remove(due: due, number: number) }
  }

  /// Moves the clock on by `duration`, and runs what is due on the way, each at its own time.
  public func advance(by duration: Duration) { advance(to: now + duration) }

  /// Moves the clock on to `time`, and runs what is due on the way, each at its own time.
  public func advance(to time: Duration) {
    while runNext(until: time) {}
    state.withLock { $0.now = max($0.now, time) }
  }

  /// Runs all that waits, and what that schedules, moving the clock on from one to the next. It does not return while work
  /// schedules more work for ever: use `advance` for that.
  public func run() {
    while runNext(until: nil) {}
  }

  private func runNext(until limit: Duration?) -> Bool {
    let job = state.withLock { state -> Job? in
      guard let first = state.jobs.first, first.due <= limit ?? first.due else { return nil }
      state.now = max(state.now, first.due)
      return state.jobs.removeFirst()
    }
    guard let job else { return false }
    job.action()
    return true
  }

  /// Its closure goes with the job, outside the lock.
  private func remove(due: Duration, number: Int) {
    _ = state.withLock { state -> Job? in
      let place = state.place(due: due, number: number)
      guard state.jobs.indices.contains(place), state.jobs[place].number == number else { return nil }
      return state.jobs.remove(at: place)
    }
  }
}
