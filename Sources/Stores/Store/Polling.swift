public import GraphQLClient
import HTTPClientCore
public import Streams
import SystemBase

extension Store {
  /// A live stream of a key, as ``stream(_:_:context:)`` is, whose value is requested again whenever it has become as old
  /// as an interval: for what a server does not push.
  ///
  ///     scores.stream(match, every: .seconds(10)).subscribe(onNext: { show($0.value) }).disposed(by: bag)
  ///
  /// Requests are made while somebody is subscribed, and at no other time. Those of several subscribers are one, since
  /// the response to any request makes the value younger. After failures in a row, which the snapshots show, the pause
  /// doubles, up to five minutes, or the interval if that is longer; it is never shorter than what the server asks for.
  /// Who subscribes later makes no request either during the store's back-off from those failures, unless a response ends it.
  /// - Parameters:
  ///   - key: What is read.
  ///   - interval: The longest time from one response to the next request; at least 100 milliseconds.
  ///   - policy: How the first snapshots are read.
  ///   - jitter: The part of each pause, from 0 to 1, that is random, so that clients do not come together.
  ///   - context: What the request knows of its caller.
  public func stream(
    _ key: Key, every interval: Duration, _ policy: FetchPolicy = .cacheFirst, jitter: Double = 0.1,
    context: ReadContext = ReadContext()
  ) -> Observable<Snapshot<Value>> {
    stream(key, policy, context: context).polling(
      every: interval, jitter, by: clock.scheduler, age: { self.peek(key)?.knownAge },
      backoff: { self.pause(of: key) },
      refresh: { self.read(key, .networkOnly, context).map { _ in } })
  }
}

extension NormalizedStore {
  /// A live stream of an operation, as ``stream(_:_:context:allowsPartial:)`` is, whose response is requested again
  /// whenever it has become as old as an interval; see ``Store/stream(_:every:_:jitter:context:)``.
  public func stream<Session: GraphQLSession>(
    _ session: Session, every interval: Duration, _ policy: FetchPolicy = .cacheFirst, jitter: Double = 0.1,
    context: ReadContext = ReadContext()
  ) -> Observable<Snapshot<Session.ResponseData>> {
    .deferred { [self] in
      let key = try NormalizedKey(session, by: client.encoder)
      return stream(session, policy, context: context).polling(
        every: interval, jitter, by: store.clock.scheduler, age: { [self] in peek(key)?.knownAge },
        backoff: { [store] in store.pause(of: key) },
        refresh: { [self] in read(key, .networkOnly, context).map { _ in } })
    }
  }
}

extension Store {
  /// How long it is until the back-off from the latest failure of a key ends.
  fileprivate func pause(of key: Key) -> Duration {
    let now = clock.now
    guard let failure = state.withLock({ $0.failures.peek(key) }), failure.isRecent(now: now) else { return .zero }
    return failure.delay - (now - failure.at)
  }
}

extension Snapshot {
  /// How old the value is; `nil` if its date is in the future, as after the clock was set back.
  fileprivate var knownAge: Duration? { age == .zero && isStale ? nil : age }
}

extension Observable {
  /// This stream, during which something is requested again and again.
  fileprivate func polling(
    every interval: Duration, _ jitter: Double, by scheduler: any Scheduler,
    age: @escaping @Sendable () -> Duration?, backoff: @escaping @Sendable () -> Duration,
    refresh: @escaping @Sendable () -> Observable<Void>
  ) -> Observable {
    .create { observer in
      let pauses = Poller.pauses(of: interval, jitter: jitter)
      let poller = Poller(pauses, scheduler, age: age, backoff: backoff, refresh: refresh)
      poller.begin()
      let subscription = self.subscribe(
        onNext: { value in
          observer.onNext(value)
          poller.noteResponse()
        },
        onError: { error in
          poller.end()
          observer.onError(error)
        },
        onCompleted: {
          poller.end()
          observer.onCompleted()
        })
      return Disposables.create([subscription, Disposables.create { poller.end() }])
    }
  }
}

/// Requests something whenever it is old enough, until it is ended.
private final class Poller: Sendable {
  private struct State: Sendable {
    var failures = 0
    /// How old the value was at the latest failure; `nil` if there was none.
    var failedAge: Duration?
    /// Whether a pause is being waited for that the server has not asked for.
    var mayEndEarly = false
    /// How old the value is to become.
    var due = Duration.zero
    /// What is waited for; `nil` after the end.
    var current: DisposeBag? = DisposeBag()
  }

  private let state = Locked(State())
  private let pauses: Backoff
  private let scheduler: any Scheduler
  private let age: @Sendable () -> Duration?
  private let backoff: @Sendable () -> Duration
  private let refresh: @Sendable () -> Observable<Void>

  init(
    _ pauses: Backoff, _ scheduler: any Scheduler, age: @escaping @Sendable () -> Duration?,
    backoff: @escaping @Sendable () -> Duration, refresh: @escaping @Sendable () -> Observable<Void>
  ) {
    (self.pauses, self.scheduler) = (pauses, scheduler)
    (self.age, self.backoff, self.refresh) = (age, backoff, refresh)
  }

  static func pauses(of interval: Duration, jitter: Double) -> Backoff {
    let interval = max(interval, .milliseconds(100))
    return Backoff(initial: interval, maximum: max(interval, .seconds(300)), jitter: jitter)
  }

  /// Waits until the value that is there is old enough.
  func begin() {
    let due = nextPause()
    sleep(due - min(age() ?? .zero, due))
  }

  /// Waits for a whole pause, since a response has come only now, whether or not the value is a new one; a response to
  /// another's request may put off what follows.
  private func wait(atLeast minimum: Duration = .zero) {
    state.withLock { $0.mayEndEarly = minimum == .zero }
    sleep(max(nextPause(), minimum))
  }

  private func nextPause() -> Duration {
    let failures = state.withLock(\.failures)
    let due = pauses.delay(after: failures + 1)
    state.withLock { $0.due = due }
    return due
  }

  private func sleep(_ pause: Duration) {
    run { [self] in scheduler.schedule(after: pause) { [weak self] in self?.poll() } }
  }

  private func poll() {
    if endFailures() { return begin() }
    let due = state.withLock(\.due)
    if let age = age(), age < due { return sleep(due - age) }
    // A request of somebody else may have failed, and another may be answered before that pause is over.
    let pause = backoff()
    if pause > .zero { return sleep(min(pause, due)) }
    state.withLock { $0.mayEndEarly = false }
    run { [self] in
      refresh().take(1).asSingle().subscribe(
        onNext: { [self] in
          state.withLock { $0.failures = 0 }
          wait()
        },
        onError: { [self] error in
          let age = age()
          state.withLock { state in
            state.failures += 1
            state.failedAge = age
          }
          wait(atLeast: (error as? RequestError)?.pause ?? .zero)
        })
    }
  }

  /// Ends the pause after failures, should another's request have been answered.
  func noteResponse() {
    if state.withLock(\.mayEndEarly), endFailures() { begin() }
  }

  /// Forgets failures if the value is younger than it was at the latest; returns whether there were some to forget.
  private func endFailures() -> Bool {
    guard state.withLock({ $0.failures > 0 }), let age = age() else { return false }
    return state.withLock { state in
      guard state.failures > 0, state.failedAge.map({ age < $0 }) ?? true else { return false }
      state.failures = 0
      return true
    }
  }

  /// Begins what is waited for next.
  private func run(_ begin: () -> any Disposable) {
    let bag = DisposeBag()
    // What it replaces is disposed of outside the lock.
    let old = state.withLock { state in state.current == nil ? nil : exchange(&state.current, with: bag) }
    if old != nil { bag.insert(begin()) }
  }

  func end() { state.withLock { $0.current.take() }?.dispose() }
}
