import Streams
import Synchronization

/// A scheduler whose clock stands still until a test moves it.
final class VirtualScheduler: Scheduler {
  private struct Job {
    let due: Duration
    let number: Int
    let action: @Sendable () -> Void
  }

  private struct State {
    var now: Duration = .zero
    var count = 0
    var jobs: [Job] = []
  }

  private let state = Mutex(State())

  var now: Duration { state.withLock { $0.now } }

  /// The number of jobs that wait and were not disposed.
  var pendingCount: Int { state.withLock { $0.jobs.count } }

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(after: .zero, action) }

  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    let number = state.withLock { state in
      state.count += 1
      let job = Job(due: state.now + max(delay, .zero), number: state.count, action: action)
      let place = state.jobs.lastIndex { $0.due <= job.due }.map { $0 + 1 } ?? 0
      state.jobs.insert(job, at: place)
      return job.number
    }
    return Disposables.create {
      let removed = self.state.withLock { state in
        state.jobs.firstIndex { $0.number == number }.map { state.jobs.remove(at: $0) }
      }
      withExtendedLifetime(removed) {}
    }
  }

  /// Moves the clock on, and runs what is due on the way, each at its own time.
  func advance(by duration: Duration) {
    let end = now + duration
    while runNext(until: end) {}
    state.withLock { $0.now = max($0.now, end) }
  }

  /// Runs all that waits, and what that schedules.
  func run() {
    while runNext(until: nil) {}
  }

  private func runNext(until limit: Duration?) -> Bool {
    let job = state.withLock { state -> Job? in
      guard let first = state.jobs.first, first.due <= limit ?? first.due else { return nil }
      state.now = max(state.now, first.due)
      return state.jobs.removeFirst()
    }
    job?.action()
    return job != nil
  }
}
