extension Observable {
  /// Subscribes anew after each error, for ever.
  ///
  ///     source     ──1──x
  ///     retry()    ──1────1────1──
  @inlinable public func retry() -> Observable<Element> { retry(.max) }

  /// Subscribes anew after an error, with `maxAttemptCount` attempts in all; the last one's error is the stream's.
  ///
  ///     source     ──1──x
  ///     retry(2)   ──1────1──x
  ///
  /// An attempt is torn down before the next one begins. Attempts that fail at once take no stack.
  public func retry(_ maxAttemptCount: Int) -> Observable<Element> {
    retry(when: .immediate(attempts: maxAttemptCount), scheduler: ImmediateScheduler())
  }

  /// Subscribes anew after an error when `policy` says so, after the delay it gives, timed by `scheduler`.
  ///
  ///     source                                     ──1──x
  ///     retry(when: .exponential(attempts: 3, …))  ──1────1──────1──x
  ///
  /// RxSwift's takes a stream of errors; a policy is a value that can be tested by itself.
  public func retry(when policy: RetryPolicy, scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      Retry(source: self, policy: policy, scheduler: scheduler, sink: sink).attempt(1)
    }
  }
}

private final class Retry<Element: Sendable>: Sendable {
  private let source: Observable<Element>
  private let policy: RetryPolicy
  private let scheduler: any Scheduler
  private let sink: Sink<Element>
  private let attempts: Slot
  /// Attempts that fail inside their own start are taken up by the loop that started them.
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
      // In its place before there is a job: that may begin the next attempt before `schedule` returns.
      let wait = attempts.child()
      wait.insert(scheduler.schedule(after: delay) { self.attempt(number + 1) })
    }
  }
}
