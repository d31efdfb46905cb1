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
    let isDisposed: Flag
    let action: @Sendable () -> Void
  }

  private struct State {
    var now: Duration = .zero
    var count = 0
    var jobs: [Job] = []
  }

  /// The time that one character of a marble string stands for.
  public let frame: Duration
  private let state = Guarded(State())

  /// A scheduler at time 0, on which one character of a marble string lasts `frame`.
  public init(frame: Duration = .seconds(1)) { self.frame = frame }

  /// The time that the test has moved the clock to.
  public var now: Duration { state.withLock { $0.now } }

  /// The number of jobs that wait and were not disposed: 0 at the end of a test that left nothing behind.
  public var pendingCount: Int { state.withLock { $0.jobs.count { !$0.isDisposed.isSet } } }

  /// Runs `action` at the next `advance` or `run`, at the present time.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(after: .zero, action) }

  /// Runs `action` when the clock has come to the present time and `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    let isDisposed = Flag()
    state.withLock { state in
      state.count += 1
      let due = state.now + max(delay, .zero)
      let job = Job(due: due, number: state.count, isDisposed: isDisposed, action: action)
      let place = state.jobs.lastIndex { $0.due <= due }.map { $0 + 1 } ?? 0
      state.jobs.insert(job, at: place)
    }
    return Disposables.create {
      isDisposed.set()
      self.removeDisposed()
    }
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
    if !job.isDisposed.isSet { job.action() }
    return true
  }

  /// The closures go with the jobs, outside the lock.
  private func removeDisposed() {
    let removed = state.withLock { state in
      let all = state.jobs
      state.jobs = all.filter { !$0.isDisposed.isSet }
      return all
    }
    withExtendedLifetime(removed) {}
  }
}

/// Something that is set once.
private final class Flag: Sendable {
  private let value = Guarded(false)

  var isSet: Bool { value.withLock { $0 } }

  func set() { value.withLock { $0 = true } }
}
