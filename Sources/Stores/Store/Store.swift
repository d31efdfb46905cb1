import GraphQLClient
import HTTPClientCore
import Streams
public import SystemBase

/// Values by key: served from a cache at once, refreshed from the server, and live for every watcher.
///
///     let users = Store<UserID, User>(.ofStream { id in session.getUser(id) })
///     users.stream("7", .cacheAndNetwork)     // snapshots, for as long as you subscribe
///     users.get("7", .cacheFirst)             // one snapshot
///
/// Put into the key everything that a response depends on: an app's version, for example, if responses differ by it.
/// Leave out everything else, or at least leave it out of the key's `==` and of the form in which the source of truth
/// stores the key: keys that are equal must be equal in both. With JSON, not all are; see ``RecordCoder/json``. The
/// `==`, `hash` and, if they are objects, `deinit` of keys must not call the store: they run under its lock. The `==` of
/// `String` takes canonically equivalent strings for one key, such as "é" of one scalar and of two: where a server has
/// both, make the key a type of your own that compares them by `utf8`.
///
/// Reads are served from memory, then from the source of truth, then from the network, as their policy says. Equal
/// requests in flight are joined into one. All watchers of a key see its writes in the same order. One store serves one
/// account: see ``StoreGroup``.
///
/// Thread-safe. Streams call back on the thread that writes: that of the request, of `save` on a thread, or their
/// subscriber's. On another one they do so if a task waits for the write, a stream is followed, many values are changed at
/// once, somebody else's read begins or ends a request, or the source of truth is asynchronous: there a watcher that stalls
/// keeps nobody for more than about a tenth of a second. A watcher that is called while it still handles an earlier
/// snapshot gets the latest one after it, on the same thread, and not those between; no other thread waits for it.
///
/// The source of truth is read on the subscriber's thread. Responses are written to it on a thread of its own before their
/// readers get them, unless ``StoreConfiguration/writing`` is `behind`; what is saved is written before the call returns,
/// on the caller's thread unless a watcher takes long.
public final class Store<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  let configuration: StoreConfiguration<Value>
  // Copied from the configuration, so that reads from memory need not copy all of that.
  @usableFromInline let clock: StoreClock
  @usableFromInline let freshness: Freshness
  let storage: StorageAccess<Key, Value>
  private let fetcher: Fetcher<Key, Value>
  private let keyForResponse: @Sendable (Key, Value) -> Key
  @usableFromInline let state: Locked<StoreState<Key, Value>>
  /// The subscriptions to outboxes and to the source of truth, which end with the store.
  let showings = DisposeBag()
  private let sweepTimer = Locked<(any Disposable)?>(nil)
  let runner = EffectRunner()

  /// Makes a store.
  /// - Parameters:
  ///   - fetcher: Requests a value.
  ///   - storage: Keeps values across restarts; by default, nothing does.
  ///   - configuration: How values are cached.
  ///   - keyForResponse: The key to keep a response under, if that is not the requested key. The response goes to the
  ///     caller, and to everyone who watches the key that it is kept under.
  public init(
    _ fetcher: Fetcher<Key, Value>, storage: StoreStorage<Key, Value> = .memory,
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key }
  ) {
    self.configuration = configuration
    clock = configuration.clock
    freshness = configuration.freshness
    self.fetcher = fetcher
    self.keyForResponse = keyForResponse
    let access = StorageAccess(storage, configuration)
    self.storage = access
    state = Locked(StoreState(configuration, access))
    access.queue?.onSignOut { [weak self] in self?.perform { $0.endSignedOut() } }
    guard let shared = access.shared else { return }
    shared.setNotice { [weak self] key, notice in
      guard let self else { return notice.renamedVersion }
      return follow(notice, of: key)
    }
    shared.onSignOut { [weak self] in self?.endSignedOut() }
    shared.truth.changes.subscribe(onNext: { [weak self] in self?.follow($0) }).disposed(by: showings)
  }

  /// Makes a store that requests a value by `async` code, which runs in a task of its own: short for
  /// `Store(.of(fetch))`.
  ///
  ///     Store<String, User> { id in try await service.user(id) }
  public convenience init(
    storage: StoreStorage<Key, Value> = .memory, configuration: StoreConfiguration<Value> = StoreConfiguration(),
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key) async throws -> Value
  ) {
    self.init(.of(fetch), storage: storage, configuration: configuration, keyForResponse: keyForResponse)
  }

  deinit { sweepTimer.withLock { exchange(&$0, with: nil) }?.dispose() }

  /// Ends the store because another one signs the account out, and leaves it to that to notify watchers and readers.
  private func endSignedOut() -> SharedAccount.Ended {
    let steps = Steps<Key, Value>()
    let latest = perform(in: steps) { state in
      state.endSignedOut()
      return state.latestVersion
    }
    return SharedAccount.Ended(latest: latest, notifications: [{ self.end(steps) }])
  }

  /// Hits, misses and size of the cache in memory.
  public var statistics: CacheStatistics { CacheStatistics(state.withLock { $0.memory.statistics }) }

  /// Changes the state under the lock, then carries out the resulting effects without it.
  func perform<Result>(_ change: (inout StoreState<Key, Value>) -> Result) -> Result {
    var effects: [StoreState<Key, Value>.Effect] = []
    var garbage: [Any] = []
    let result = state.withLockUnchecked { state in
      defer {
        swap(&effects, &state.effects)
        swap(&garbage, &state.garbage)
      }
      return change(&state)
    }
    if !effects.isEmpty { carryOut(effects) }
    withExtendedLifetime(garbage) {}
    return result
  }

  /// Changes the state as a part of a change in several steps, whose effects are carried out after the last one: a
  /// watcher that stalls at the first would keep the others from being made.
  func perform<Result>(
    in steps: Steps<Key, Value>?, _ change: (inout StoreState<Key, Value>) -> Result
  ) -> Result {
    guard let steps else { return perform(change) }
    var garbage: [Any] = []
    let result = state.withLockUnchecked { state in
      defer {
        steps.append(exchange(&state.effects, with: []))
        swap(&garbage, &state.garbage)
      }
      return change(&state)
    }
    withExtendedLifetime(garbage) {}
    return result
  }

  /// Carries out the effects of all steps.
  func end(_ steps: Steps<Key, Value>) {
    let effects = steps.take()
    if !effects.isEmpty { carryOut(effects) }
  }

  /// Carries out the effects of a step that do not stall, such as writes, so that they do not pile up; the others are to be
  /// carried out with those of `later`.
  func endUnstalled(_ step: Steps<Key, Value>, leaving later: Steps<Key, Value>) {
    let effects = step.take()
    later.append(effects.filter(\.mayStall))
    for effect in effects where !effect.mayStall { carryOut(effect) }
  }

  /// Carries out the effects of all steps: those that may stall first, with the requests, which a fetcher may answer at
  /// once, and on another thread, for which this one does not wait any more once they do.
  func endElsewhere(_ steps: Steps<Key, Value>) {
    let (stalling, others) = steps.take().split(by: \.mayStallElsewhere)
    if !stalling.isEmpty { runner.runElsewhere(actions(for: stalling)) }
    for effect in others { carryOut(effect) }
  }

  /// Carries out the effects of all steps, elsewhere if a task does so: its thread must not wait for a watcher that stalls.
  func endOffTask(_ steps: Steps<Key, Value>) {
    if withUnsafeCurrentTask(body: { $0 != nil }) { endElsewhere(steps) } else { end(steps) }
  }

  /// As above, for a task, whose thread does not wait. Requests are begun here, with the task's values, and last: a fetcher
  /// that answers at once may call a watcher that stalls.
  func endElsewhere(_ steps: Steps<Key, Value>) async {
    let (stalling, others) = steps.take().split(by: \.mayStall)
    if !stalling.isEmpty {
      await withCheckedContinuation { continuation in
        runner.runElsewhere(actions(for: stalling)) { continuation.resume() }
      }
    }
    let (requests, writes) = others.split(by: \.mayStallElsewhere)
    for effect in writes + requests { carryOut(effect) }
  }

  /// Begins or ends a read on the thread of its subscriber, who may be a task. Watchers are called on another one, for which
  /// this one does not wait any more once they stall, but for the one whose stream it is.
  func performRead<Result>(
    id: (Result) -> UInt64?, _ change: (inout StoreState<Key, Value>) -> Result
  ) -> Result {
    let steps = Steps<Key, Value>()
    let result = perform(in: steps, change)
    let own = id(result)
    let (others, effects) = steps.take().split { effect in
      if case .deliver(let watchers) = effect { watchers.contains { $0.id != own } } else { false }
    }
    if others.isEmpty {
      if !effects.isEmpty { carryOut(effects) }
      return result
    }
    // Its own watcher comes first, and may stall, too.
    var actions = actions(for: effects)
    let hasOwn = if case .deliver = effects.first { true } else { false }
    let elsewhere = EffectRunner.Action(mayStall: false) { self.runner.runElsewhere(self.actions(for: others)) }
    actions.insert(elsewhere, at: hasOwn ? 1 : 0)
    runner.run(actions)
    return result
  }

  private func carryOut(_ effects: [StoreState<Key, Value>.Effect]) {
    // Most changes have no watcher, or one, and nothing after it. By index: each element that an iterator of these
    // gives is an allocation.
    let last = effects.count - 1
    if !(0..<last).contains(where: { effects[$0].mayStall }), effects[last].watchers.count < 2 {
      for place in 0...last { carryOut(effects[place]) }
      return
    }
    runner.run(actions(for: effects))
  }

  private func actions(for effects: [StoreState<Key, Value>.Effect]) -> [EffectRunner.Action] {
    var actions: [EffectRunner.Action] = []
    for effect in effects {
      guard case .deliver(let watchers) = effect else {
        actions.append(
          EffectRunner.Action(mayStall: effect.mayStallElsewhere, isAwaited: effect.isWrite) { self.carryOut(effect) })
        continue
      }
      // Each watcher for itself: one that stalls delays no other.
      for watcher in watchers {
        actions.append(EffectRunner.Action(mayStall: true) { self.carryOut(.deliver([watcher])) })
      }
    }
    return actions
  }

  private func carryOut(_ effect: StoreState<Key, Value>.Effect) {
    switch effect {
    case .deliver(let watchers): for watcher in watchers { watcher.deliver(freshness: freshness, clock: clock) }
    case .answer(let waiter, let result): waiter.completion(result)
    case .complete(let completion, let error): completion(error)
    case .answering(let effect): carryOut(effect)
    case .start(let key, let fetch): start(key, fetch)
    case .cancel(let fetch): fetch.subscription.dispose()
    case .refetchLater(let key, let pause):
      _ = clock.scheduler.schedule(after: pause) { [weak self] in self?.perform { $0.refetchAfterPause(key) } }
    case .sweepLater: sweepLater()
    case .finish(let job, let timing, let completion): storage.queue?.finish(job, timing, then: completion ?? { _ in })
    case .share(let key): storage.shared?.begin(key)
    case .shareRemoval: storage.shared?.beginRemoval()
    case .keepRefusal: storage.shared?.keepRefusal()
    case .endOtherStores(let others):
      storage.queue?.endOthers()
      others.notify()
    }
  }

  func makeCachedValue(_ value: Value) -> CachedValue<Value> {
    CachedValue(value, writtenAt: clock.now, cost: configuration.cost(value))
  }

  private func sweepLater() {
    guard let idleTime = configuration.idleTime else { return }
    let timer = clock.scheduler.schedule(after: idleTime / 4) { [weak self] in self?.perform { $0.sweep() } }
    // The old one has fired.
    withExtendedLifetime(sweepTimer.withLock { exchange(&$0, with: timer) }) {}
  }

  private func start(_ key: Key, _ fetch: Fetch<Key, Value>) {
    // A watcher that was notified of the request may have cancelled it.
    if fetch.subscription.isDisposed { return }
    let subscription = fetcher.fetch(key, fetch.context).first(orFail: StoreError.noResponse).subscribe(
      onNext: { self.succeed(key, fetch.id, $0) }, onError: { self.fail(key, fetch.id, $0) })
    fetch.subscription.insert(subscription)
  }

  private func succeed(_ key: Key, _ fetchID: UInt64, _ response: Fetched<Value>) {
    let target = keyForResponse(key, response.value)
    let isCacheable = configuration.isCacheable(response.value)
    guard response.errors.isEmpty else {
      // A complete value on disk has precedence over a partial one.
      perform { $0.acquire(target) }
      return load(target) { _ in
        self.succeed(key, fetchID, response, isCacheable, target)
        self.perform { $0.release(target) }
      }
    }
    succeed(key, fetchID, response, isCacheable, target)
  }

  private func succeed(
    _ key: Key, _ fetchID: UInt64, _ response: Fetched<Value>, _ isCacheable: Bool, _ target: Key
  ) {
    var (value, pushed) = (response.value, 0)
    while true {
      // What was pushed meanwhile is newer than the response. These are the user's closures, which run without a lock.
      let pushes = perform { $0.pushes(to: key, during: fetchID).dropFirst(pushed) }
      for push in pushes { value = push.change(value) ?? value }
      pushed += pushes.count
      var cached = makeCachedValue(value)
      if !response.errors.isEmpty { cached.errors = response.errors }
      let isDone = perform { [cached, pushed] in
        $0.succeed(
          key, fetchID: fetchID, response: cached, pushed: pushed, isCacheable: isCacheable, target: target)
      }
      if isDone { return }
    }
  }

  private func fail(_ key: Key, _ fetchID: UInt64, _ error: any Error) {
    load(key) { self.fail(key, fetchID, error, source: $0 ?? .memory) }
  }

  private func fail(_ key: Key, _ fetchID: UInt64, _ error: any Error, source: SnapshotSource) {
    // Called here, not under the lock: it is the user's code.
    let failure = RequestError(wrapping: error)
    let isOutage = configuration.mayServeStale(failure)
    let effect = isOutage ? .keep : configuration.effectOfFailure(failure)
    let delay = delay(of: key, after: failure)
    let now = clock.now
    perform { state in
      state.fail(
        key, fetchID: fetchID, error: error, isOutage: isOutage, effect: effect, delay: delay, source: source, now: now)
    }
  }

  /// How long a key is not requested again after a failure.
  private func delay(of key: Key, after failure: RequestError) -> Duration? {
    guard let backoff = configuration.backoff, failure.kind != .cancelled, !failure.isUnauthenticated,
      !failure.isForbidden
    else { return nil }
    let count = state.withLock { $0.failureCount(of: key) } + 1
    return max(backoff.delay(after: count), failure.pause)
  }
}

/// The effects of a change in several steps.
final class Steps<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let effects = Locked<[StoreState<Key, Value>.Effect]>([])

  func append(_ more: [StoreState<Key, Value>.Effect]) { effects.withLock { $0 += more } }

  /// Takes out the effects. Reports come last: they may call an observer, which may stall, and keep the others from being
  /// carried out.
  func take() -> [StoreState<Key, Value>.Effect] {
    let effects = effects.withLock { exchange(&$0, with: []) }
    let (reports, others) = effects.split(by: \.isReport)
    return others + reports
  }
}

extension StoreState.Effect {
  fileprivate var isReport: Bool { if case .complete = self { true } else { false } }

  fileprivate var isWrite: Bool { if case .finish = self { true } else { false } }

  /// A fetcher may answer while it is called, and so call watchers.
  fileprivate var mayStallElsewhere: Bool { if case .start = self { true } else { mayStall } }

  fileprivate var mayStall: Bool {
    switch self {
    case .deliver, .answer, .answering, .endOtherStores: true
    case .complete, .start, .cancel, .refetchLater, .sweepLater: false
    case .finish, .share, .shareRemoval, .keepRefusal: false
    }
  }

  fileprivate var watchers: [Watcher<Key, Value>] { if case .deliver(let watchers) = self { watchers } else { [] } }
}

extension Array {
  /// Those for which a condition holds, and the others, in their order.
  fileprivate func split(by condition: (Element) -> Bool) -> (those: [Element], others: [Element]) {
    var (those, others): ([Element], [Element]) = ([], [])
    for element in self { if condition(element) { those.append(element) } else { others.append(element) } }
    return (those, others)
  }
}
