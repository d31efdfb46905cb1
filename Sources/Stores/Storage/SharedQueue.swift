import HTTPClientCore
import Streams
import SystemBase

/// The changes that wait for an asynchronous source of truth.
///
/// Work is added under the store's lock, and carried out in tasks, for which no thread waits: one change of a key at a
/// time, those of several keys at once. A change that replaces one of its key that was not begun ends for both.
///
/// Work that has failed is outstanding: reads count it as done, and it is tried again after a pause, when the source
/// reports that it is back, and before a report about its key is believed. Versions decide which change of a key stays,
/// so it does not matter when the source gets it. At most ``limit`` keys have outstanding work; what fails beyond that is
/// given up, and then the value of the source counts as out of date in this process. Outstanding work keeps the queue,
/// also when its store is released.
final class SharedQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What the source has done instead of what it was to do.
  enum Notice: Sendable {
    /// The version that it had was greater, only since this process had not seen it: the change has got a greater one.
    case renamed(EntryVersion, to: EntryVersion)
    /// It has not taken the change of this version, since it has a newer one.
    case superseded(EntryVersion)

    /// The version that a change gets whose store was released.
    var renamedVersion: EntryVersion? {
      guard case .renamed(let old, let greater) = self else { return nil }
      return VersionClock.version(after: greater, writer: old.writer)
    }
  }

  struct State {
    var lines: [Key: Line] = [:]
    var runningCount = 0
    /// The keys whose work is to be tried again, and how much of that is running.
    var backlog: [Key] = []
    var backlogCount = 0
    /// While it is there, no other work begins.
    var removal: Removal?
    var nextRemoval: Removal?
    var suspicions = Suspects()
    var failures = 0
    var timer: (any Disposable)?
    var flushes: [Flush] = []
    /// Whether another store has signed the account out, and whether this has ended since: nothing is begun any more.
    var (isSignedOut, isEnded) = (false, false)
    var onSignOut: (@Sendable () -> SharedAccount.Ended?)?
    var onNotice: (@Sendable (Key, Notice) -> EntryVersion?)?
    /// The number of the last one who waits, job or attempt.
    var lastNumber: UInt64 = 0

    mutating func waiters(_ completion: WriteCompletion?) -> [Waiter] {
      guard let completion else { return [] }
      return [Waiter(number: nextNumber(), completion: completion)]
    }

    /// Takes out those who have begun to wait by then, for a change of a key, or the removal of everything, that was not begun, or
    /// has run for longer than the limit.
    mutating func takeLate(through number: UInt64, _ key: Key?) -> [Waiter] {
      var late = nextRemoval?.waiters.take(through: number) ?? []
      if let removal, !removal.isRunning || removal.isOverdue {
        late += self.removal?.waiters.take(through: number) ?? []
      }
      if let key { late += lines[key]?.waiting?.waiters.take(through: number) ?? [] }
      return late
    }

    mutating func nextNumber() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }

    /// Lets flushes wait for longer, since the source has taken some of what they wait for.
    mutating func renewFlushes(after number: UInt64, now: Duration) {
      for place in flushes.indices where flushes[place].number > number { flushes[place].renewedAt = now }
    }

    /// What waits for all work, if there is none to be tried.
    mutating func flushesIfIdle() -> [Flush] {
      flushes.isEmpty || !isIdle ? [] : exchange(&flushes, with: [])
    }

    /// Whether nothing is to be tried but what has failed, or waits behind a change that the source does not end.
    var isIdle: Bool {
      let isRunning = lines.values.contains { $0.running != nil && !$0.isStuck }
      let isStuck = lines.values.contains { $0.isStuck }
      if isRunning { return false }
      if let removal {
        return removal.isRunning ? removal.isStuck : removal.isOutstanding && runningCount == 0 || isStuck
      }
      return backlog.isEmpty
        && lines.values.allSatisfy { $0.running != nil || $0.waiting?.isOutstanding != false }
    }

    /// Lets flushes wait once more for the changes that the source does not end: it may do so just now. Returns these, for
    /// ``giveUp(_:)``.
    mutating func awaitStuck() -> Stuck {
      let stuck = Stuck(
        attempts: lines.filter(\.value.isStuck).mapValues(\.attempt),
        removal: removal.flatMap { $0.isStuck ? $0.version : nil })
      for key in stuck.attempts.keys { lines[key]?.isStuck = false }
      removal?.isStuck = false
      return stuck
    }

    /// Lets flushes wait no longer for these changes.
    mutating func giveUp(_ stuck: Stuck) {
      for (key, attempt) in stuck.attempts where lines[key]?.attempt == attempt && lines[key]?.running != nil {
        lines[key]?.isStuck = true
      }
      if let version = stuck.removal, removal?.version == version, removal?.isRunning == true {
        removal?.isStuck = true
      }
    }

    /// How many changes the source has not got.
    var unwrittenCount: Int { lines.count + (removal == nil ? 0 : 1) + (nextRemoval == nil ? 0 : 1) }

    /// Records that a change has begun; returns the number by which it is found as long as it runs.
    mutating func beginAttempt(_ key: Key) -> UInt64 {
      let number = nextNumber()
      lines[key]?.attempt = number
      lines[key]?.isStuck = false
      return number
    }
  }

  /// The greatest number of keys with outstanding work.
  static var limit: Int { 1 << 14 }

  /// How much of that is tried again at once.
  static var concurrency: Int { 64 }

  let truth: any AsyncSourceOfTruth<Key, Value>
  /// What the account's stores have in common.
  let account: SharedAccount
  let scheduler: any Scheduler
  let backoff = Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0.5)
  let onError: @Sendable (any Error) -> Void
  let state = Locked(State())
  private let busyAction = Locked<(@Sendable () -> Void)?>(nil)
  private let registration = DisposeBag()

  /// - Parameter scheduler: Measures how long the source takes.
  init(
    _ truth: any AsyncSourceOfTruth<Key, Value>, scheduler: any Scheduler,
    onError: @escaping @Sendable (any Error) -> Void
  ) {
    self.truth = truth
    account = .of(truth.identity)
    self.scheduler = scheduler
    self.onError = onError
    // Here, not by the store: what was begun continues when that is released.
    account.onSignOut(of: self) { [weak self] in self?.endSignedOut() ?? SharedAccount.Ended() }
      .disposed(by: registration)
  }

  /// Sets what is called with each notice, on any thread. For a version that was renamed it is asked for the new one:
  /// `renamed(old, to: the source's)`; `nil` gives the change up.
  func setNotice(_ onNotice: @escaping @Sendable (Key, Notice) -> EntryVersion?) {
    state.withLock { $0.onNotice = onNotice }
  }

  /// Sets what ends the store, and with that this, when another one signs the account out; `nil` if it is released.
  func onSignOut(_ action: @escaping @Sendable () -> SharedAccount.Ended?) {
    let isSignedOut = state.withLock { state in
      state.onSignOut = action
      return state.isSignedOut
    }
    // It has come before.
    if isSignedOut { action()?.notify() }
  }
}

/// Adding work, under the store's lock, and beginning it, without.
extension SharedQueue {
  /// Adds work, for the caller to begin. The completion is called once, on a thread that may block: when the work is done
  /// or has failed, or after the time limit. Returns what has to be released outside the store's lock.
  func add(_ work: Work, for key: Key, completion: WriteCompletion?) -> Any {
    state.withLock { state in
      var line = state.lines[key] ?? Line()
      let old = line.waiting
      line.waiting = Job(work, after: old, waiters: state.waiters(completion), number: state.nextNumber())
      state.lines[key] = line
      return old as Any
    }
  }

  /// Adds a removal of everything, which ends all work that was not begun.
  func addRemoval(_ version: EntryVersion, completion: WriteCompletion?) -> Any {
    state.withLock { state in
      let old = state.lines
      var removal = Removal(version: version)
      for (key, line) in state.lines {
        removal.waiters += line.waiting?.waiters ?? []
        state.lines[key]?.waiting = nil
        if line.running == nil {
          for action in line.settling {
            state.flushes.append(Flush(number: state.nextNumber(), renewedAt: .zero, end: action))
          }
          state.lines[key] = nil
        }
      }
      removal.waiters += state.waiters(completion)
      if state.removal?.isRunning == true {
        removal.waiters = (state.nextRemoval?.waiters ?? []) + removal.waiters
        state.nextRemoval = removal
      } else {
        removal.waiters = (state.removal?.waiters ?? []) + removal.waiters
        state.removal = removal
      }
      return old
    }
  }

  /// Adds who waits for the removal of everything, for the caller to begin once more; false if all is removed.
  func joinRemoval(_ completion: @escaping WriteCompletion) -> Bool {
    state.withLock { state in
      let waiters = state.waiters(completion)
      if state.nextRemoval != nil {
        state.nextRemoval?.waiters += waiters
      } else {
        state.removal?.waiters += waiters
      }
      return state.removal != nil
    }
  }

  /// Lets the account's next session know which values a sign-out removes; call it when their removal was added.
  func setRemains(olderThan version: EntryVersion) {
    state.withLock { state in
      account.setRemains(olderThan: version)
      // Another call has removed them meanwhile.
      if state.removal == nil { account.endRemains(by: self) }
    }
  }

  /// Gives up all work that was not begun, and begins no other: another store has signed the account out, and would not
  /// remove that. Returns what has to be called, and what to be released, outside the store's lock.
  func end() -> Abandoned {
    state.withLock { state in
      state.isEnded = true
      var abandoned = Abandoned(garbage: (state.lines, state.timer))
      (state.timer, state.backlog) = (nil, [])
      for (key, line) in state.lines {
        abandoned.add(line.waiting?.waiters)
        state.lines[key]?.waiting = nil
        if let running = line.running {
          abandoned.latest = max(abandoned.latest, running.work.version)
        } else {
          for action in line.settling { abandoned.completions.append { _ in action() } }
          state.lines[key] = nil
        }
      }
      abandoned.add(exchange(&state.nextRemoval, with: nil)?.waiters)
      if state.removal?.isRunning == false { abandoned.add(exchange(&state.removal, with: nil)?.waiters) }
      for flush in state.flushesIfIdle() { abandoned.completions.append { _ in flush.end() } }
      return abandoned
    }
  }

  private func endSignedOut() -> SharedAccount.Ended {
    // In one step: who sets the action from now on calls it.
    let action = state.withLock { state in
      state.isSignedOut = true
      return state.onSignOut
    }
    if let ended = action?() { return ended }
    let abandoned = end()
    let notifications = abandoned.completions.map { completion in { @Sendable in completion(StoreError.signedOut) } }
    return SharedAccount.Ended(latest: abandoned.latest, notifications: notifications)
  }

  /// Ends all other stores of the account.
  func signOut() -> SharedAccount.Ended { account.signOut(by: self) }

  /// Begins the work of a key, unless some is running, after which it begins by itself.
  func begin(_ key: Key) {
    busyAction.withLock { $0 }?()
    let work = mustWait ? nil : state.withLock { take(key, of: &$0) }
    if let work { Task { await self.run(work, key) } } else { limitWait(for: key) }
  }

  /// Whether all has to wait for an earlier session. What waits keeps the queue, also when its store is released.
  private var mustWait: Bool { account.mustWait(self) { self.beginAll() } }

  private func take(_ key: Key, of state: inout State) -> Work? {
    guard state.removal == nil, let line = state.lines[key], line.running == nil, let job = line.waiting else {
      return nil
    }
    state.lines[key]?.running = job
    state.lines[key]?.waiting = nil
    state.runningCount += 1
    return job.work
  }

  /// Begins the removal of everything, unless something is running, after which it begins by itself.
  func beginRemoval() {
    busyAction.withLock { $0 }?()
    account.notifySuccessors()
    let mustWait = mustWait
    let version = state.withLock { state -> EntryVersion? in
      guard !mustWait, state.runningCount == 0, let removal = state.removal, !removal.isRunning else { return nil }
      state.removal?.isRunning = true
      state.removal?.isOverdue = false
      return removal.version
    }
    if let version {
      Task { await self.run(removal: version) }
    } else {
      limitWait(for: nil)
    }
  }

  /// Completes a change of a key, or the removal of everything, for those who wait, if what is running does not end within
  /// the limit; it is made nonetheless.
  private func limitWait(for key: Key?) {
    let last = state.withLock { state -> UInt64? in
      let waiting = [
        key.flatMap { state.lines[$0]?.waiting?.waiters }, state.removal?.waiters, state.nextRemoval?.waiters,
      ]
      return waiting.compactMap { $0?.map(\.number).max() }.max()
    }
    guard let last else { return }
    _ = scheduler.schedule(after: truth.timeLimit) { [weak self] in
      guard let self else { return }
      let late = state.withLock { $0.takeLate(through: last, key) }
      call(late, RequestError(.timedOut, "The source of truth has taken too long for a change before."))
    }
  }

  /// Begins all that waits, and all that has failed once more, some at a time.
  func beginAll() {
    beginRemoval()
    if mustWait { return }
    let old = state.withLock { state in
      let keys = state.removal == nil ? state.lines.filter { $0.value.waiting != nil }.map(\.key) : []
      return exchange(&state.backlog, with: keys)
    }
    withExtendedLifetime(old) {}
    continueBacklog()
  }

  private func continueBacklog() {
    while let (key, work) = state.withLock({ takeBacklog(of: &$0) }) {
      Task {
        await run(work, key)
        state.withLock { $0.backlogCount -= 1 }
        continueBacklog()
      }
    }
    for flush in state.withLock({ $0.flushesIfIdle() }) { flush.end() }
  }

  private func takeBacklog(of state: inout State) -> (Key, Work)? {
    while state.backlogCount < Self.concurrency, let key = state.backlog.popLast() {
      guard let work = take(key, of: &state) else { continue }
      state.backlogCount += 1
      return (key, work)
    }
    return nil
  }

  /// Whether something waits, or is outstanding.
  var isBusy: Bool { state.withLock { !$0.lines.isEmpty || $0.removal != nil } }

  /// Sees to it that this is kept as long as nothing else knows that the server has refused the account.
  func keepRefusal() { if account.isNeeded { busyAction.withLock { $0 }?() } }

  /// Sets what to call, without a lock, when there is work.
  func onBusy(_ action: @escaping @Sendable () -> Void) { busyAction.withLock { $0 = action } }

  /// Calls back when all earlier work is done or has failed, with how many changes the source has not got; what has failed
  /// before is tried once more. Does not wait when the source has taken nothing of it for twice the limit.
  func flush(then completion: @escaping @Sendable (_ unwritten: Int) -> Void) {
    beginAll()
    let end: @Sendable () -> Void = { [weak self] in completion(self?.state.withLock { $0.unwrittenCount } ?? 0) }
    let now = scheduler.now
    let (flush, stuck) = state.withLock { state -> (Flush?, Stuck) in
      let stuck = state.awaitStuck()
      if state.isIdle { return (nil, stuck) }
      let flush = Flush(number: state.nextNumber(), renewedAt: now, end: end)
      state.flushes.append(flush)
      return (flush, stuck)
    }
    guard let flush else { return end() }
    limitFlush(flush.number, to: truth.timeLimit * 2)
    if stuck.isEmpty { return }
    _ = scheduler.schedule(after: truth.timeLimit) { [weak self] in
      let flushes = self?.state.withLock { state in
        state.giveUp(stuck)
        return state.flushesIfIdle()
      }
      for flush in flushes ?? [] { flush.end() }
    }
  }

  /// Ends a flush when the source has taken nothing of what it waits for since twice the limit.
  private func limitFlush(_ number: UInt64, to delay: Duration) {
    _ = scheduler.schedule(after: delay) { [weak self] in
      guard let self else { return }
      let now = scheduler.now
      let (flush, rest) = state.withLock { state -> (Flush?, Duration) in
        guard let place = state.flushes.firstIndex(where: { $0.number == number }) else { return (nil, .zero) }
        let rest = state.flushes[place].renewedAt + truth.timeLimit * 2 - now
        return rest > .zero ? (nil, rest) : (state.flushes.remove(at: place), .zero)
      }
      flush?.end()
      if rest > .zero { limitFlush(number, to: rest) }
    }
  }

  /// Calls back when the work of a key has been tried, with whether it is done, on a thread that may block; at once if there
  /// is none.
  func settle(_ key: Key, then completion: @escaping @Sendable (_ isDone: Bool) -> Void) {
    let isPending = state.withLock { state in
      guard state.lines[key] != nil else { return false }
      state.lines[key]?.settling.append { [weak self] in
        let isDone = self?.state.withLock { $0.lines[key] == nil } ?? false
        _ = ElasticScheduler().schedule { completion(isDone) }
      }
      return true
    }
    if !isPending { return completion(true) }
    begin(key)
  }
}
