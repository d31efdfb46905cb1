/// The attempts of one subscription to `retry`.
final class Retry<Element: Sendable>: Sendable {
  private let source: Observable<Element>
  private let policy: RetryPolicy
  private let scheduler: any Scheduler
  private let sink: Sink<Element>
  private let attempts: Slot
  /// If an attempt fails while it is being started, the loop that started it starts the next one.
  private let loop: Serializer

  init(source: Observable<Element>, policy: RetryPolicy, scheduler: any Scheduler, sink: Sink<Element>) {
    self.source = source
    self.policy = policy
    self.scheduler = scheduler
    self.sink = sink
    attempts = sink.slot()
    loop = sink.serializer()
  }

  func attempt(_ number: Int) { loop.send(number) { self.start($0) } }

  private func start(_ number: Int) {
    let attempt = attempts.child()
    source.start(attempt, next: sink.next) { [self] error in
      guard let error, let delay = policy.delay(number, error) else { return sink.end(error) }
      attempt.close()
      if delay <= .zero { return self.attempt(number + 1) }
      // Set before there is a job: the job may begin the next attempt before `schedule` returns.
      let wait = attempts.child()
      wait.insert(scheduler.schedule(after: delay) { self.attempt(number + 1) })
    }
  }
}
