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
  /// An attempt is torn down before the next one begins. Attempts that fail at once take no stack. If `maxAttemptCount`
  /// is 0 or less, there is still one attempt.
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
