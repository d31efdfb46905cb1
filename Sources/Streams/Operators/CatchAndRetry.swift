internal import Synchronization

extension Observable {
  /// Continues with the stream that `handler` returns for the error. The source is torn down before that stream is
  /// subscribed to.
  ///
  ///     source              ──1──2──x
  ///     catch { _ in b }            ──8──9──|
  ///                         ──1──2────8──9──|
  ///
  /// If `handler` throws, the stream fails with that error. To try again, a handler may return the very stream that it
  /// handles; attempts that fail at once then use up stack, unlike those of ``retry(_:)``.
  @inlinable
  public func `catch`(
    _ handler: @escaping @Sendable (any Error) throws -> Observable<Element>
  ) -> Observable<Element> {
    Observable { sink in
      let handling = Handling(handler, sink)
      let attempt = handling.attempt
      if !attempt.isClosed { self.start(Sink(next: sink.next, end: { handling.end($0) }, lifetime: attempt)) }
      if attempt.started() { handling.proceed() }
    }
  }

  /// Replaces an error by `element` and completion.
  ///
  ///     source                ──1──2──x
  ///     catchAndReturn(0)     ──1──2──0|
  @inlinable
  public func catchAndReturn(_ element: Element) -> Observable<Element> { `catch` { _ in .just(element) } }
}

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

/// Whether to subscribe again after an error, and after what delay.
public struct RetryPolicy: Sendable {
  /// The delay before the next attempt, after attempt number `attempt` (the first is 1) failed with `error`; nil for no
  /// further attempt.
  public let delay: @Sendable (_ attempt: Int, _ error: any Error) -> Duration?

  /// The greatest number of attempts, if it does not depend on their errors.
  package let attempts: Int?

  /// A policy from your own function.
  public init(delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration?) {
    self.init(attempts: nil, delay: delay)
  }

  private init(attempts: Int?, delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration?) {
    self.attempts = attempts
    self.delay = delay
  }

  /// `attempts` attempts in all, without a delay.
  public static func immediate(attempts: Int) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { attempt, _ in attempt < attempts ? .zero : nil }
  }

  /// `attempts` attempts in all, the first included, with the delays of `backoff`.
  public static func exponential(attempts: Int, _ backoff: Backoff) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { attempt, _ in attempt < attempts ? backoff.delay(after: attempt) : nil }
  }

  /// `attempts` attempts in all, the first included, with the delays of a ``Backoff`` of these values.
  public static func exponential(
    attempts: Int, initial: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(30),
    jitter: Double = 1, random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) -> RetryPolicy {
    .exponential(
      attempts: attempts,
      Backoff(initial: initial, factor: factor, maximum: maximum, jitter: jitter, random: random))
  }

  /// This policy, limited to errors for which `predicate` is true; other errors are not retried.
  public func retrying(if predicate: @escaping @Sendable (any Error) -> Bool) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { attempt, error in predicate(error) ? delay(attempt, error) : nil }
  }
}

/// The segment of a source that another stream may follow.
///
/// A source that ends while it is being started, on this thread or another, has not said yet what is to be torn down.
/// What follows it then waits until the start is over.
///
/// It knows nothing of what it belongs to: a source may keep it after the end.
@usableFromInline
final class Attempt: Segment, @unchecked Sendable {
  private enum Progress: UInt8, AtomicRepresentable {
    case starting, started, ended
  }

  private let progress = Atomic(Progress.starting)

  @usableFromInline override init() {}

  /// Says that the source has been started, and returns whether it has ended by then: its successor is the caller's to
  /// start.
  @usableFromInline func started() -> Bool {
    progress.exchange(.started, ordering: .acquiringAndReleasing) == .ended
  }

  /// Says that the source has ended, and returns whether it was started before: if so, its successor is the caller's to
  /// start. What is written before this can be read where ``started()`` has returned true.
  @usableFromInline func hasStarted() -> Bool {
    progress.exchange(.ended, ordering: .acquiringAndReleasing) == .started
  }
}

/// One subscription to `catch`: a closure that captures one object needs no memory of its own.
///
/// `@unchecked Sendable`: `error` is written before `attempt` says that the source has ended, and read after that.
@usableFromInline
final class Handling<Element: Sendable>: @unchecked Sendable {
  @usableFromInline let attempt = Attempt()
  @usableFromInline let place: UInt
  @usableFromInline let handler: @Sendable (any Error) throws -> Observable<Element>
  @usableFromInline let sink: Sink<Element>
  @exclusivity(unchecked) @usableFromInline var error: (any Error)?

  @inlinable init(_ handler: @escaping @Sendable (any Error) throws -> Observable<Element>, _ sink: Sink<Element>) {
    self.handler = handler
    self.sink = sink
    place = sink.lifetime.add(attempt)
  }

  @inlinable func end(_ error: (any Error)?) {
    guard attempt.claim() else { return }
    if let error {
      sink.lifetime.close(attempt, at: place)
      self.error = error
      if attempt.hasStarted() { proceed() }
    } else {
      sink.end(nil)
    }
    attempt.close()
  }

  /// Starts what follows the error.
  @inlinable func proceed() {
    guard let error, !sink.lifetime.isClosed else { return }
    do { try handler(error).start(sink) } catch { sink.endIfOpen(error) }
  }
}

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
