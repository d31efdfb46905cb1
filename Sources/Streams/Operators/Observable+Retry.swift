extension Observable {
  /// Subscribes again after each error, for ever.
  ///
  ///     source     ──1──x
  ///     retry()    ──1────1────1──
  @inlinable public func retry() -> Observable<Element> { retry(.max) }

  /// Subscribes again after an error, up to `maxAttemptCount` attempts in all; if the last one fails, the stream fails
  /// with its error.
  ///
  ///     source     ──1──x
  ///     retry(2)   ──1────1──x
  ///
  /// An attempt is torn down before the next one begins. Attempts that fail at once do not use up stack. If
  /// `maxAttemptCount` is 0 or less, there is still one attempt.
  public func retry(_ maxAttemptCount: Int) -> Observable<Element> {
    retry(when: .immediate(attempts: maxAttemptCount), scheduler: ImmediateScheduler())
  }

  /// Subscribes again after an error if `policy` says so, after the delay that it returns, timed by `scheduler`.
  ///
  ///     source                                     ──1──x
  ///     retry(when: .exponential(attempts: 3, …))  ──1────1──────1──x
  ///
  /// RxSwift's `retry(when:)` takes a stream of errors; a policy is a value that can be tested on its own.
  public func retry(when policy: RetryPolicy, scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      Retry(source: self, policy: policy, scheduler: scheduler, sink: sink).attempt(1)
    }
  }
}
