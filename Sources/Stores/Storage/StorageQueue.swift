import Streams
import SystemBase

/// Called once, when a write is done, or with the reason why it is not.
typealias WriteCompletion = @Sendable ((any Error)?) -> Void

/// A store's way to its synchronous source of truth: what it reads there, in the light of what it has not written yet,
/// and what it writes, in the order of the changes of its state.
///
/// Work is enqueued under the store's lock. What is enqueued belongs to the account, not to the store: see
/// ``AccountStorage``. Completions run on the thread that finishes the job, so a slow one delays no other.
final class StorageQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Job = AccountStorage<Key, Value>.Job
  typealias Reading = StorageReading<Value>

  private struct Handlers {
    var onSignOut: (@Sendable () -> Void)?
    var onBusy: (@Sendable () -> Void)?
  }

  let writesBehind: Bool
  /// Whether the source of truth has values, and not only what concerns the account.
  let keepsValues: Bool
  private let source: any SourceOfTruth<Key, Value>
  private let account: AccountStorage<Key, Value>
  private let onError: @Sendable (any Error) -> Void
  private let handlers = Locked(Handlers())

  init(
    _ source: any SourceOfTruth<Key, Value>, writesBehind: Bool, onError: @escaping @Sendable (any Error) -> Void
  ) {
    self.source = source
    self.writesBehind = writesBehind
    keepsValues = !(source is RecordJournalSource)
    self.onError = onError
    account = .of(source)
    account.add(self)
  }

  /// Sets what to call once, without a lock, when the account was signed out by another store or process.
  func onSignOut(_ action: @escaping @Sendable () -> Void) { handlers.withLock { $0.onSignOut = action } }

  /// Sets what to call, without a lock, when there is work and was none before.
  func onBusy(_ action: @escaping @Sendable () -> Void) { handlers.withLock { $0.onBusy = action } }

  /// Whether the server has refused the account, as an earlier store or process has found.
  var isRefused: Bool { account.isRefused || source.isRefused }

  /// Whether something is lost if nobody keeps this.
  var isBusy: Bool { account.isNeeded }

  /// Enqueues work, which the caller has to finish; also returns what has to be released outside the store's lock.
  func enqueue(_ work: Work) -> (job: Job, garbage: Any) { account.enqueue(work, source) }

  /// What the source of truth will have for a key once all work is done; `nil` if it has nothing, or reading fails,
  /// which is reported.
  func current(_ key: Key) -> StoredValue<Value>? {
    if case .found(let stored) = read(key) { stored } else { nil }
  }

  /// What the source of truth will have for a key once all work is done, with the reason if that is nothing.
  func read(_ key: Key) -> Reading {
    let wasOutOfDate = account.isOutOfDate(key)
    if let pending = account.pending(key) { return pending }
    do {
      return account.judge(try source.read(key), of: key, wasOutOfDate: wasOutOfDate)
    } catch {
      report(error)
      return .failed
    }
  }

  /// The keys that the source of truth will have once all work is done. What it cannot list is reported, and out of
  /// date from now on: a change that these keys are wanted for does not reach it.
  func keys() -> Set<Key> {
    var errors: [any Error] = []
    var present: [Key] = []
    do { present = try source.keys { errors.append($0) } } catch { errors.append(error) }
    if !errors.isEmpty { account.suspectAll() }
    for error in errors { report(error) }
    return account.keys(of: present)
  }

  /// Lets what the source of truth has for a key, which could not be read, count as out of date until it is replaced.
  func suspect(_ key: Key) { account.suspect(key) }

  /// The newest unfinished removal of everything.
  var removal: Job? { account.removal }

  /// Whether the last removal of everything failed, so that there may be something left.
  var hasRemains: Bool { account.hasRemains }

  /// When a job is finished.
  enum Timing: Sendable {
    /// Before the caller continues.
    case here
    /// Also before, unless that may mean waiting for another process: then on the queue's thread.
    case elsewhere
    /// On the queue's thread, and nobody waits for it.
    case later
  }

  /// Carries out all queued work, then calls the completion with the job's error, unless nobody waits.
  func finish(_ job: Job, _ timing: Timing, then completion: @escaping WriteCompletion) {
    switch timing {
    case .here: finish(job, then: completion)
    case .elsewhere: finishElsewhere(job, then: completion)
    case .later: finishLater(job)
    }
  }

  /// Carries out all queued work, then calls the completion with the job's error, whichever thread did it. Blocks the
  /// caller while another process has the lock of the files.
  func finish(_ job: Job, then completion: ((any Error)?) -> Void) {
    begin(job)
    account.performAll()
    conclude(job, completion)
  }

  /// Carries out all queued work, on the queue's thread if it may have to wait for another process: no task must, and
  /// however many responses come meanwhile, only that one thread does. The completion runs on a thread that may block.
  func finishElsewhere(_ job: Job, then completion: @escaping WriteCompletion) {
    guard source.waitsForOtherProcesses else { return finish(job, then: completion) }
    begin(job)
    account.performAllElsewhere { _ = ElasticScheduler().schedule { self.conclude(job, completion) } }
  }

  /// Calls the completion when what was enqueued before is carried out; at once if nothing is left.
  func finishEarlier(then completion: @escaping @Sendable () -> Void) {
    if !isBusy { return completion() }
    account.performAllElsewhere { _ = ElasticScheduler().schedule(completion) }
  }

  /// Carries out all queued work later, on the queue's thread.
  func finishLater(_ job: Job) {
    begin(job)
    account.performAllElsewhere { self.conclude(job) { _ in } }
  }

  /// Carries out all queued work on the queue's thread, after what was to be finished there, and what has failed once
  /// more; then runs the completion, with how many changes the source of truth has not got.
  func flush(then completion: @escaping @Sendable (_ unwritten: Int) -> Void) {
    account.performAllElsewhere(isRetry: true) { [account] in completion(account.unwrittenCount) }
  }

  /// Lets all other stores of the account know that it was signed out.
  func endOthers() { account.endOthers(self) }

  func endSignedOut() { handlers.withLock { exchange(&$0.onSignOut, with: nil) }?() }

  private func begin(_ job: Job) {
    if job.isFirst { handlers.withLock { $0.onBusy }?() }
  }

  private func conclude(_ job: Job, _ completion: ((any Error)?) -> Void) {
    let error = job.outcome
    if let error {
      if error.isSignedOut { endSignedOut() } else { report(error) }
    }
    completion(error)
  }

  private func report(_ error: any Error) { onError(error) }
}
