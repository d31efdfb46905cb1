import Dispatch
import Platform
import Streams
import Synchronization

/// Called once, when a write is done, or with the reason why it is not.
typealias WriteCompletion = @Sendable ((any Error)?) -> Void

/// The writes that wait for the source of truth, in the order of the changes of the store's state.
///
/// Work is enqueued under the store's lock, and carried out without it, by one thread at a time. A write replaces one
/// of the same key that still waits: both are one job, which ends for both when the newer value is written, or is not.
/// Completions run on the thread that finishes the job, so a slow one delays no other.
final class StorageQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  enum Work: Sendable {
    case write(StoredValue<Value>, Key, isResponse: Bool = false)
    /// Marks what an asynchronous source of truth has, which may be newer than what memory has.
    case invalidate(Key)
    case remove(Key)
    /// Removes a value that has expired, unless another process has replaced the one of this version.
    case expire(Key, EntryVersion)
    case removeAll
  }

  /// A piece of work, and its result.
  ///
  /// `@unchecked Sendable`: `work`, `enqueuedAt`, `isTaken` and `successor` are accessed under the queue's lock, and
  /// also read by the thread that has taken the job, after which nothing changes them. `error` is set by the thread
  /// that holds `turn`, and read by others after they have held it.
  final class Job: @unchecked Sendable {
    fileprivate var work: Work
    fileprivate var enqueuedAt: ContinuousClock.Instant
    fileprivate var isTaken = false
    /// The removal of everything that makes this work needless.
    fileprivate var successor: Job?
    fileprivate var error: (any Error)?

    fileprivate init(_ work: Work) {
      self.work = work
      enqueuedAt = .now
    }

    fileprivate var outcome: (any Error)? { successor.map(\.outcome) ?? error }
  }

  private struct State {
    var jobs: [Job] = []
    /// The newest unfinished job of each key.
    var newest: [Key: Job] = [:]
    /// The newest unfinished removal of everything.
    var removingAll: Job?
    /// Whether the last removal of everything failed.
    var hasRemains = false
    var doubts = Doubts<Key>()
    /// The last time that the lock of the files was waited for in vain.
    var lockFailure: (error: any Error, at: ContinuousClock.Instant)?
  }

  typealias Reading = StorageReading<Value>

  private let truth: any SourceOfTruth<Key, Value>
  let writesBehind: Bool
  private let onError: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "store.storage", qos: .utility)
  private let state = Locked(State())
  /// Held while the source of truth is written to, and while nothing else is called.
  private let turn = Mutex(())

  init(
    _ truth: any SourceOfTruth<Key, Value>, writesBehind: Bool, onError: @escaping @Sendable (any Error) -> Void
  ) {
    self.truth = truth
    self.writesBehind = writesBehind
    self.onError = onError
  }

  /// Enqueues work, which the caller has to finish; also returns what has to be released outside the store's lock.
  func enqueue(_ work: Work) -> (job: Job, garbage: Any) {
    state.withLock { state in
      switch work {
      case .write(_, let key, _), .remove(let key), .invalidate(let key), .expire(let key, _):
        if let waiting = state.newest[key], !waiting.isTaken {
          waiting.enqueuedAt = .now
          return (waiting, exchange(&waiting.work, with: work.merged(after: waiting.work)))
        }
        let job = Job(work)
        state.jobs.append(job)
        return (job, state.newest.updateValue(job, forKey: key) as Any)
      case .removeAll:
        let job = Job(work)
        let needless = state.jobs.filter { $0.successor == nil && $0.isOfOneKey }
        let values = needless.map { exchange(&$0.work, with: .removeAll) }
        for waiting in needless { waiting.successor = job }
        state.jobs.append(job)
        state.removingAll = job
        return (job, (values, exchange(&state.newest, with: [:])))
      }
    }
  }

  /// What the source of truth will have for a key once all work is done; `nil` if it has nothing, or reading fails,
  /// which is reported.
  func current(_ key: Key) -> StoredValue<Value>? {
    if case .found(let stored) = read(key) { stored } else { nil }
  }

  /// The same, with the reason; of a synchronous source of truth only.
  func read(_ key: Key) -> Reading {
    if let pending = pending(key) { return pending }
    do {
      return result(try truth.read(key), of: key)
    } catch {
      report(error)
      return .failed
    }
  }

  /// What a read returns because of work that is not done yet, or has failed; `nil` if the source has to be asked.
  private func pending(_ key: Key) -> Reading? {
    state.withLock { state -> Reading? in
      if let newest = state.newest[key] {
        switch newest.work {
        case .write(let stored, _, _): return .found(stored)
        case .invalidate: break
        case .remove, .expire, .removeAll: return .missing
        }
      }
      if state.removingAll != nil { return .missing }
      // Not even read: it would show what was removed.
      return state.doubts[key] == .removed ? .missing : nil
    }
  }

  private func result(_ stored: StoredValue<Value>?, of key: Key) -> Reading {
    guard var stored else { return .missing }
    let (doubt, isInvalidated) = state.withLock { state in
      (state.doubts[key], state.newest[key].map { if case .invalidate = $0.work { true } else { false } } ?? false)
    }
    if doubt == .removed { return .missing }
    if doubt == .outOfDate || isInvalidated { stored.isInvalidated = true }
    return .found(stored)
  }

  /// Whether the source of truth has a value that was to be removed or replaced, which failed.
  func isOutdated(_ key: Key) -> Bool { state.withLock { $0.doubts[key] == .removed } }

  /// Whether work on a key is not done yet.
  func isPending(_ key: Key) -> Bool { state.withLock { $0.newest[key] != nil || $0.removingAll != nil } }

  /// Ends the doubt about a key that was changed by others.
  func trust(_ key: Key) { state.withLock { $0.doubts.remove(key) } }

  /// Lets what the source of truth has for a key, which could not be read, count as out of date until it is replaced.
  func doubt(_ key: Key) { state.withLock { $0.doubts.insert(key, .outOfDate) } }

  /// The same for all keys.
  func doubtAll() { state.withLock { $0.doubts.insertAll(.outOfDate) } }

  /// The keys that the source of truth will have once all work is done.
  func keys() throws -> Set<Key> {
    let (newest, isEmptied) = state.withLock { state in
      (state.newest.mapValues { if case .write = $0.work { true } else { false } }, state.removingAll != nil)
    }
    var keys = isEmptied ? [] : Set(try truth.keys())
    for (key, isWrite) in newest {
      if isWrite { keys.insert(key) } else { keys.remove(key) }
    }
    return keys
  }

  /// The newest unfinished removal of everything.
  var removal: Job? { state.withLock { $0.removingAll } }

  /// Whether the last removal of everything failed, so that there may be something left.
  var hasRemains: Bool { state.withLock { $0.hasRemains } }

  func report(_ error: any Error) { onError(error) }

  /// Carries out all queued work, then calls the completion with the job's error, whichever thread did it.
  func finish(_ job: Job, then completion: ((any Error)?) -> Void) {
    performAll()
    conclude(job, completion)
  }

  private func conclude(_ job: Job, _ completion: ((any Error)?) -> Void) {
    let error = job.outcome
    if let error { onError(error) }
    completion(error)
  }

  /// The same, on the queue's thread if it may have to wait for another process: no task must, and however many
  /// responses come meanwhile, only that one thread does.
  func finishElsewhere(_ job: Job, then completion: @escaping WriteCompletion) {
    guard truth.waitsForOtherProcesses else {
      return finish(job, then: completion)
    }
    queue.async {
      self.performAll()
      DispatchQueue.global().async { self.conclude(job, completion) }
    }
  }

  /// The same, later, on the queue.
  func finishLater(_ job: Job) {
    queue.async { self.finish(job) { _ in } }
  }

  /// Carries out all queued work on the queue, after what was to be finished there; then runs the completion.
  func flush(then completion: @escaping @Sendable () -> Void) {
    queue.async {
      self.performAll()
      completion()
    }
  }

  /// When this returns, all work enqueued before is done, by this thread or another.
  private func performAll() {
    turn.withLock { _ in performTaken() }
  }

  private func performTaken() {
    let jobs = state.withLock { state in
      for job in state.jobs { job.isTaken = true }
      return exchange(&state.jobs, with: [])
    }
    for job in jobs where job.successor == nil {
      do {
        // It has waited for the lock as long as the one that failed.
        if let failure = state.withLock({ $0.lockFailure }), failure.at > job.enqueuedAt { throw failure.error }
        try perform(job.work)
      } catch {
        job.error = error
        if let error = error as? FileError, error.isLockTimeout { recordLockFailure(error, job) }
        removeOutdated(job, after: error)
      }
      markDone(job)
    }
  }

  private func perform(_ work: Work) throws {
    switch work {
    case .write(let stored, let key, _): try truth.write(stored, for: key)
    case .invalidate: break
    case .remove(let key): try truth.remove(key)
    case .expire(let key, let version): if try truth.read(key)?.version == version { try truth.remove(key) }
    case .removeAll: try truth.removeAll()
    }
  }

  private func recordLockFailure(_ error: FileError, _ job: Job) {
    state.withLock { state in
      if let last = state.lockFailure, last.at > job.enqueuedAt { return }
      state.lockFailure = (error, .now)
    }
  }

  /// After a write that has failed, the older value would come back as if it were current: tries to remove it.
  private func removeOutdated(_ job: Job, after error: any Error) {
    guard case .write(_, let key, _) = job.work,
      (error as? FileError)?.isLockTimeout != true
    else { return }
    try? truth.remove(key)
  }

  private func markDone(_ job: Job) {
    let released = state.withLock { state -> Any? in
      switch job.work {
      case .write(_, let key, _), .remove(let key), .invalidate(let key), .expire(let key, _):
        if case .invalidate = job.work {
          if job.error != nil { state.doubts.insert(key, .outOfDate) }
        } else if job.error == nil {
          state.doubts.remove(key)
        } else {
          state.doubts.insert(key, .removed)
        }
        return state.newest[key] === job ? state.newest.removeValue(forKey: key) : nil
      case .removeAll:
        if state.removingAll === job { state.removingAll = nil }
        state.hasRemains = job.error != nil
        // What is left is what was to be removed.
        if job.error == nil { state.doubts = Doubts() } else { state.doubts.insertAll(.removed) }
        return nil
      }
    }
    // Released here, outside the lock.
    _ = released
  }
}

extension StorageQueue.Job {
  fileprivate var isOfOneKey: Bool { if case .removeAll = work { false } else { true } }
}

extension StorageQueue.Work {
  /// This work in the place of earlier work on the same key that was not begun.
  fileprivate func merged(after earlier: Self) -> Self {
    guard case .invalidate = self else { return self }
    switch earlier {
    case .write(var stored, let key, let isResponse):
      stored.isInvalidated = true
      return .write(stored, key, isResponse: isResponse)
    case .remove, .expire, .removeAll: return earlier
    case .invalidate: return self
    }
  }
}

/// The keys whose values in the source of truth are not what they should be, since work on them has failed.
///
/// Kept in memory, so it does not outlive the process. If there are very many such keys, all keys are in doubt: that
/// costs requests, and shows nothing wrong.
struct Doubts<Key: Hashable & Sendable> {
  enum Doubt: Int {
    /// The value was invalidated.
    case outOfDate
    /// The value was removed, or replaced by one that could not be written.
    case removed
  }

  private var doubts: [Key: Doubt] = [:]
  /// What holds for all other keys but those that were written since.
  private var others: Doubt?
  private var written: Set<Key> = []
  private let limit: Int

  init(limit: Int = 1 << 16) {
    self.limit = limit
  }

  subscript(key: Key) -> Doubt? { doubts[key] ?? (written.contains(key) ? nil : others) }

  mutating func insert(_ key: Key, _ doubt: Doubt) {
    if let known = self[key], known.rawValue >= doubt.rawValue { return }
    guard doubts.count < limit else { return insertAll(.removed) }
    doubts[key] = doubt
  }

  mutating func insertAll(_ doubt: Doubt) {
    if let others, others.rawValue > doubt.rawValue {
      // Those that were written since are in this lesser doubt.
      for key in written { doubts[key] = doubt }
    } else {
      others = doubt
      written = []
      if doubt == .removed { doubts = [:] }
    }
  }

  /// Ends the doubt about a key whose value was written or removed.
  mutating func remove(_ key: Key) {
    doubts[key] = nil
    // Beyond the limit, doubt remains about keys that were written, which costs requests.
    if others != nil, written.count < limit { written.insert(key) }
  }
}
