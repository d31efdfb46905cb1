import Dispatch
import Streams
import Synchronization
import SystemBase

/// What only memory knows of the data of one account: the writes that wait, in the order of the changes of stores'
/// states, what the source of truth has although it was to be removed or replaced, and whether the server has refused
/// the account.
///
/// It outlives the stores. All stores of one source of truth have one, by the source's identity; it is kept while it
/// has something to do or to remember, so that the next store finds that, and ends with a sign-out.
///
/// Work is enqueued under a store's lock, and carried out without it, by one thread at a time. A write replaces one
/// of the same key that still waits: both are one job, which ends for both when the newer value is written, or is not.
final class AccountStorage<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Work = StorageQueue<Key, Value>.Work

  /// A piece of work, and its result.
  ///
  /// `@unchecked Sendable`: `work`, `source`, `enqueuedAt`, `isTaken` and `successor` are accessed under the lock of
  /// the account's state, and also read by the thread that has taken the job, after which nothing changes them. `error`
  /// is set by the thread that holds `turn`, and read by others after they have held it.
  final class Job: @unchecked Sendable {
    fileprivate(set) var work: Work
    /// The source of truth of the store whose work it is: it is carried out even if that store is released.
    fileprivate var source: any SourceOfTruth<Key, Value>
    fileprivate var enqueuedAt = ContinuousClock.now
    fileprivate var isTaken = false
    /// The removal of everything that makes this work needless.
    fileprivate var successor: Job?
    fileprivate var error: (any Error)?
    /// Whether nothing else was to be done when it was enqueued.
    fileprivate(set) var isFirst = false
    /// Whether it has failed before.
    fileprivate var isRetry = false

    fileprivate init(_ work: Work, _ source: any SourceOfTruth<Key, Value>) {
      self.work = work
      self.source = source
    }

    var outcome: (any Error)? { successor.map(\.outcome) ?? error }
  }

  /// A store over this storage.
  fileprivate struct Opening {
    weak var queue: StorageQueue<Key, Value>?
  }

  fileprivate struct State {
    var jobs: [Job] = []
    /// The newest unfinished job of each key, of the removal of everything, and of the refusal.
    var newest: [Key: Job] = [:]
    var removal: Job?
    var refusal: Job?
    /// The jobs that are not done.
    var count = 0
    /// Whether the last removal of everything failed, and why, if it was that of a sign-out.
    var hasRemains = false
    var signOutFailure: (any Error)?
    var suspicions = Suspicions<Key>()
    var isRefused = false
    /// Whether the source of truth keeps that, too.
    var keepsRefusal = false
    var isSignedOut = false
    /// What has failed to carry out work last.
    var failing: (any SourceOfTruth<Key, Value>)?
    /// The last time that the lock of the files was waited for in vain.
    var lockFailure: (error: FileError, at: ContinuousClock.Instant)?
    /// When what has failed may be tried again, how often that has failed in a row, and whether a timer will do so.
    var retryAt = ContinuousClock.now
    var failures = 0
    var awaitsRetry = false
    var openings: [Opening] = []
    /// Keeps this object while it has to remember something.
    var remembered: AccountStorage?

    /// Whether it knows something that is not in the source of truth.
    var isDirty: Bool { hasRemains || !suspicions.isEmpty || isRefused && !keepsRefusal }

    @discardableResult
    mutating func append(_ job: Job) -> Job {
      job.isFirst = count == 0
      count += 1
      jobs.append(job)
      return job
    }
  }

  /// How long after a failure the same work is tried again.
  private static var backoff: Backoff { Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0) }

  private let identity: StorageIdentity?
  /// That of the session before, if it was known when this was made, until its sign-out has ended.
  private let predecessor: Locked<AccountStorage?>
  private let queue = DispatchQueue(label: "store.storage", qos: .utility)
  private let state = Locked(State())
  /// Held while the source of truth is written to, and while nothing else is called.
  private let turn = Mutex(())

  /// The storage of a source of truth: that of the stores which have opened the same, if there is one.
  static func of(_ source: any SourceOfTruth<Key, Value>) -> AccountStorage {
    guard let path = source.identity else { return AccountStorage(nil) }
    let identity = StorageIdentity(type: ObjectIdentifier(Self.self), path: path)
    var ended: AccountStorage?
    while true {
      let storage = identity.storage(insteadOf: ended) { AccountStorage(identity, after: ended) } as? AccountStorage
      guard let storage else { return AccountStorage(nil) }
      // After a sign-out, this is another session.
      if !storage.state.withLock({ $0.isSignedOut }) { return storage }
      ended = storage
    }
  }

  private init(_ identity: StorageIdentity?, after predecessor: AccountStorage? = nil) {
    (self.identity, self.predecessor) = (identity, Locked(predecessor))
  }

  deinit { identity?.forget() }

  /// Adds a store, which is ended by a sign-out of another one.
  func add(_ opening: StorageQueue<Key, Value>) {
    let others = state.withLock { state in
      let others = state.openings.compactMap(\.queue)
      state.openings = (others + [opening]).map { Opening(queue: $0) }
      return others
    }
    // Released outside the lock.
    withExtendedLifetime(others) {}
  }

  /// Enqueues work, which the caller has to finish; also returns what has to be released outside the store's lock.
  func enqueue(_ work: Work, _ source: any SourceOfTruth<Key, Value>) -> (job: Job, garbage: Any) {
    state.withLock { state in
      if state.isSignedOut, !work.isSignOut {
        let job = Job(work, source)
        job.error = StoreError.signedOut
        return (job, ())
      }
      switch work {
      case .write(_, let key, _), .remove(let key, _), .expire(let key, _), .invalidate(let key):
        if let waiting = state.newest[key], !waiting.isTaken {
          waiting.enqueuedAt = .now
          let oldSource = exchange(&waiting.source, with: source)
          return (waiting, (exchange(&waiting.work, with: work.merged(after: waiting.work)), oldSource))
        }
        // What is being written is not yet what a read of the source finds.
        let job = state.append(Job(state.newest[key].map { work.merged(after: $0.work) } ?? work, source))
        return (job, state.newest.updateValue(job, forKey: key) as Any)
      case .refuse(let isRefused):
        state.isRefused = isRefused
        let job = state.append(Job(work, source))
        return (job, exchange(&state.refusal, with: job) as Any)
      case .removeAll, .signOut:
        let job = Job(work, source)
        let needless = state.jobs.filter { $0.successor == nil && !$0.work.isOfAll }
        let values = needless.map { exchange(&$0.work, with: work) }
        for waiting in needless { waiting.successor = job }
        state.append(job)
        state.removal = job
        state.refusal = nil
        state.isRefused = false
        if work.isSignOut { state.isSignedOut = true }
        return (job, (values, exchange(&state.newest, with: [:])))
      }
    }
  }

  /// Lets all other stores know that the account was signed out.
  func endOthers(_ own: StorageQueue<Key, Value>) {
    let others = state.withLock { $0.openings.compactMap(\.queue) }
    let actions = others.filter { $0 !== own }.map { other in
      EffectRunner.Action(mayStall: true) { other.endSignedOut() }
    }
    if !actions.isEmpty { EffectRunner().run(actions) }
  }

  /// The storage of the session before, if not all that it has left is removed.
  private var emptying: AccountStorage? {
    guard let before = predecessor.withLock({ $0 }) else { return nil }
    if before.state.withLock({ $0.removal != nil || $0.hasRemains }) { return before }
    predecessor.withLock { $0 = nil }
    return nil
  }

  /// What a read returns because of work that is not done yet, or has failed; `nil` if the source has to be asked.
  func pending(_ key: Key) -> StorageQueue<Key, Value>.Reading? {
    let isEmptied = emptying != nil
    return state.withLock { state -> StorageQueue<Key, Value>.Reading? in
      if let newest = state.newest[key] {
        switch newest.work {
        case .write(let stored, _, _): return .found(stored)
        case .remove, .expire, .removeAll, .signOut: return .missing
        case .invalidate, .refuse: break
        }
      }
      if isEmptied || state.removal != nil || state.isSignedOut { return .missing }
      // Not even read: it would show what was removed.
      return state.suspicions[key]?.isRemoved == true ? .missing : nil
    }
  }

  /// Whether what the source of truth has for a key is out of date, although it does not say so yet.
  func isOutOfDate(_ key: Key) -> Bool { state.withLock { $0.isOutOfDate(key) } }

  /// What the source of truth had for a key, in the light of what could not be done, or is done by now.
  /// - Parameter wasOutOfDate: Whether that was known before it was read: an invalidation that is made meanwhile may not be
  ///   in what was read.
  func judge(_ stored: StoredValue<Value>?, of key: Key, wasOutOfDate: Bool) -> StorageQueue<Key, Value>.Reading {
    guard var stored else { return .missing }
    let (isRemoved, isOutOfDate) = state.withLock { ($0.suspicions[key]?.isRemoved == true, $0.isOutOfDate(key)) }
    if isRemoved { return .missing }
    if wasOutOfDate || isOutOfDate { stored.isInvalidated = true }
    return .found(stored)
  }

  /// The keys that the source of truth will have once all work is done, of those that it has now.
  func keys(of present: some Sequence<Key>) -> Set<Key> {
    let isBeingEmptied = emptying != nil
    let (newest, isEmptied) = state.withLock { state in
      (state.newest.mapValues(\.work), isBeingEmptied || state.removal != nil || state.isSignedOut)
    }
    var keys = isEmptied ? [] : Set(present)
    for (key, work) in newest {
      switch work {
      case .write: keys.insert(key)
      case .invalidate: break
      case .remove, .expire, .removeAll, .signOut, .refuse: keys.remove(key)
      }
    }
    return keys
  }

  /// Lets what the source of truth has for a key, which could not be read, count as out of date until it is replaced.
  func suspect(_ key: Key) {
    state.withLock { $0.suspicions.insert(key, .outOfDate) }
    remember()
  }

  /// Lets all that the source of truth has count as out of date until it is replaced.
  func suspectAll() {
    state.withLock { $0.suspicions.insertAll(.outOfDate) }
    remember()
  }

  /// The newest unfinished removal of everything.
  var removal: Job? { state.withLock { $0.removal } }

  /// Whether the last removal of everything failed, so that there may be something left.
  var hasRemains: Bool { state.withLock { $0.hasRemains } }

  /// Whether the server has refused the account.
  var isRefused: Bool { state.withLock { $0.isRefused } }

  /// How many changes the source of truth has not got.
  var unwrittenCount: Int { state.withLock { $0.count + $0.suspicions.count + ($0.hasRemains ? 1 : 0) } }

  /// Whether there is work, or something to remember that no later store would find.
  var isNeeded: Bool { state.withLock { $0.count > 0 || identity == nil && $0.isDirty } }

  /// Carries out all work that was enqueued before, on this thread unless another one does, which is waited for; and
  /// then what has failed before, if the source works again.
  func performAll(isRetry: Bool = false) {
    // A sign-out comes before what the next session writes.
    emptying?.performAll(isRetry: true)
    turn.withLock { _ in
      let isDone = performTaken()
      if isDone || isRetry { for job in outstanding() { perform(job) } }
    }
    remember()
  }

  /// Carries out all work on the queue's thread, then calls the completion there. No task has to wait: however much
  /// there is to write, only that thread waits for other processes.
  func performAllElsewhere(isRetry: Bool = false, then completion: @escaping @Sendable () -> Void) {
    queue.async {
      self.performAll(isRetry: isRetry)
      completion()
    }
  }

  /// Returns whether something was carried out.
  private func performTaken() -> Bool {
    let jobs = state.withLock { state in
      for job in state.jobs { job.isTaken = true }
      return exchange(&state.jobs, with: [])
    }
    for job in jobs {
      if job.successor == nil { perform(job) } else { state.withLock { $0.count -= 1 } }
    }
    return jobs.contains { $0.outcome == nil }
  }

  private func perform(_ job: Job) {
    do {
      // It has waited for the lock as long as the one that failed.
      if let failure = state.withLock({ $0.lockFailure }), failure.at > job.enqueuedAt { throw failure.error }
      // As long as the sign-out before it fails, it would remove this later.
      if !job.work.isOfAll, let failure = emptying?.state.withLock({ $0.signOutFailure }) { throw failure }
      try job.source.perform(job.work, isRetry: job.isRetry)
    } catch {
      job.error = error
      if let error = error as? FileError, error.isLockTimeout { recordLockFailure(error, job) }
    }
    markDone(job, isGone: job.error.map { removeOutdated(job, after: $0) } ?? false)
  }

  /// The removals, invalidations and refusals that have failed, as new jobs; not all at once, and not more often than
  /// after a pause.
  private func outstanding() -> [Job] {
    guard let source = state.withLock({ .now >= $0.retryAt ? $0.failing : nil }) else { return [] }
    let (failed, hasRemains, isSignedOut) = state.withLock { state -> ([Work], Bool, Bool) in
      let newest = state.newest
      let keys = state.suspicions.take(64) { newest[$0] == nil }
      var works = keys.map { key, reason in
        reason.isRemoved ? Work.remove(key, reason.version) : .invalidate(key)
      }
      if state.isRefused, !state.keepsRefusal { works.append(.refuse(true)) }
      return (works, state.hasRemains, state.isSignedOut)
    }
    var works = failed
    if isSignedOut {
      works = hasRemains ? [.signOut(.zero)] : []
    } else if hasRemains, let present = try? source.keys() {
      let left = state.withLock { state -> [Work] in
        present.compactMap { key -> Work? in
          guard state.newest[key] == nil, let reason = state.suspicions[key], reason.isRemoved else { return nil }
          return Work.remove(key, reason.version)
        }
      }
      if left.isEmpty { state.withLock { $0.forgetRemains() } }
      works += left
    }
    return state.withLock { [works] state -> [Job] in
      works.map { work in
        let job = Job(work, source)
        (job.isTaken, job.isRetry) = (true, true)
        state.count += 1
        return job
      }
    }
  }

  /// Tries again after a pause, since no other work may come.
  private func retryLater() {
    let pause = state.withLock { state -> Duration? in
      exchange(&state.awaitsRetry, with: true) ? nil : max(state.retryAt - .now, Self.backoff.delay(after: 1))
    }
    guard let pause else { return }
    _ = ElasticScheduler().schedule(after: pause) { [weak self] in
      guard let self else { return }
      let isEarly = state.withLock { state in
        state.awaitsRetry = false
        return state.failing != nil && .now < state.retryAt
      }
      // Another attempt, such as a flush, may have failed since, and left the next one to this timer.
      if isEarly { retryLater() } else { performAll(isRetry: true) }
    }
  }

  /// Keeps this object as long as the next store has to find something in it.
  private func remember() {
    let released = state.withLock { state in
      let isWanted = identity != nil && !state.isSignedOut && state.isDirty
      return exchange(&state.remembered, with: isWanted ? self : nil)
    }
    // Released here, outside the lock.
    withExtendedLifetime(released) {}
  }

  private func recordLockFailure(_ error: FileError, _ job: Job) {
    state.withLock { state in
      if let last = state.lockFailure, last.at > job.enqueuedAt { return }
      state.lockFailure = (error, .now)
    }
  }

  /// After a write or an invalidation that has failed, the older value would come back as if it were current: tries to
  /// remove it. Returns whether it is gone.
  private func removeOutdated(_ job: Job, after error: any Error) -> Bool {
    guard let key = job.work.outdatedKey, (error as? FileError)?.isLockTimeout != true, !error.isSignedOut else {
      return false
    }
    return (try? job.source.remove(key)) != nil
  }

  private func markDone(_ job: Job, isGone: Bool) {
    let keepsRefusal = job.source.isRefused
    let (released, isOutstanding) = state.withLock { state in
      let failing = state.failing
      state.count -= 1
      // After a sign-out elsewhere, nothing that is there concerns this account's earlier session.
      let error = job.error.flatMap { $0.isSignedOut ? nil : $0 }
      if error != nil, !isGone {
        state.failing = job.source
        if job.isRetry, state.retryAt <= .now {
          state.failures += 1
          state.retryAt = .now + Self.backoff.delay(after: state.failures)
        }
      } else if job.isRetry {
        state.failures = 0
      }
      var released: Job?
      switch job.work {
      case .write(_, let key, _), .remove(let key, _), .invalidate(let key):
        let doubt = job.work.doubt
        if error == nil || isGone {
          // An invalidation alone leaves a value that was to be removed.
          if doubt.isRemoved || isGone || state.suspicions[key] == .outOfDate { state.suspicions.remove(key) }
        } else {
          state.suspicions.insert(key, doubt)
        }
        if state.newest[key] === job { released = state.newest.removeValue(forKey: key) }
      case .expire(let key, _):
        // One that stays is as old when it is read again.
        if state.newest[key] === job { released = state.newest.removeValue(forKey: key) }
      case .refuse:
        if state.refusal === job { state.refusal = nil }
      case .removeAll, .signOut:
        if state.removal === job { state.removal = nil }
        state.hasRemains = error != nil
        state.signOutFailure = job.work.isSignOut ? error : nil
        // What is left is what was to be removed.
        if error == nil { state.suspicions = Suspicions() } else { state.suspicions.insertAll(job.work.doubt) }
      }
      state.keepsRefusal = keepsRefusal
      if !state.isDirty { state.failing = nil }
      // What is there after a sign-out may belong to the next session: only one that met a busy lock is repeated.
      let isLocked = (error as? FileError)?.isLockTimeout == true
      return ((released, failing), isLocked || state.failing != nil && !state.isSignedOut)
    }
    // Released here, outside the lock.
    withExtendedLifetime(released) {}
    if isOutstanding { retryLater() }
  }
}

extension AccountStorage.State {
  fileprivate func isOutOfDate(_ key: Key) -> Bool {
    if suspicions[key] == .outOfDate { return true }
    if case .invalidate? = newest[key]?.work { return true }
    return false
  }

  /// Nothing is left of what a removal of everything could not remove.
  fileprivate mutating func forgetRemains() {
    hasRemains = false
    suspicions.removeAll()
  }
}

extension Error {
  /// Whether the account was signed out elsewhere.
  var isSignedOut: Bool { (self as? StoreError) == .signedOut }
}
