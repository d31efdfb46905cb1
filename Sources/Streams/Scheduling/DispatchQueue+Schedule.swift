@preconcurrency internal import Dispatch

extension DispatchQueue {
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let job = Lifetime()
    async {
      if job.claim() { action() }
    }
    return job
  }

  /// Uses a timer rather than `asyncAfter`, which would keep the closure until the time has come, even if it is
  /// disposed.
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    let job = Lifetime()
    let timer = DispatchSource.makeTimerSource(queue: self)
    timer.setEventHandler {
      guard job.claim() else { return }
      action()
      job.close()
    }
    timer.schedule(deadline: .now() + delay.dispatchInterval)
    job.add(ClosureNode { timer.cancel() })
    timer.resume()
    return job
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
