@preconcurrency internal import Dispatch

/// What the schedulers put their work on.
protocol WorkQueue: AnyObject, Sendable {
  /// Runs `work` when its turn comes.
  func submit(_ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: WorkQueue {
  func submit(_ work: @escaping @Sendable () -> Void) { async(execute: work) }
}

extension WorkQueue {
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let job = Lifetime()
    submit {
      if job.claim() { action() }
    }
    return job
  }

  /// Not `asyncAfter`, which would keep the closure until the time has come, even if it is disposed.
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    TimerQueue.shared.schedule(at: .now() + delay.dispatchInterval, on: self, action)
  }
}

extension Duration {
  /// The time since the machine booted.
  static var uptime: Duration { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }

  /// The nearest interval that Dispatch accepts: from 0 to a hundred years.
  var dispatchInterval: DispatchTimeInterval {
    let bounded = min(max(self, .zero), .seconds(3_155_760_000))
    let (seconds, attoseconds) = bounded.components
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }
}
