import Dispatch
import Foundation
import Streams

/// The writes that wait for the source of truth, in the order of the changes of the store's state.
///
/// Work is enqueued under the store's lock, and carried out without it, by one thread at a time. Completions run on the
/// thread of whoever enqueued the work, so a slow one delays nobody else.
final class StorageQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  enum Work: Sendable {
    case write(StoredValue<Value>, Key)
    case remove(Key)
    case removeAll
  }

  /// A piece of work, and its result.
  ///
  /// `@unchecked Sendable`: the error is set by the thread that holds `turn`, and read by others after they have held
  /// it.
  final class Job: @unchecked Sendable {
    fileprivate let id: UInt64
    fileprivate let work: Work
    fileprivate var error: (any Error)?

    fileprivate init(id: UInt64, work: Work) {
      self.id = id
      self.work = work
    }
  }

  private struct State {
    var jobs: [Job] = []
    /// The newest unfinished work for each key; a value of `nil` is a removal.
    var newest: [Key: (id: UInt64, stored: StoredValue<Value>?)] = [:]
    /// The newest unfinished removal of everything.
    var removingAll: Job?
    /// Whether the last removal of everything failed.
    var hasRemains = false
    var lastID: UInt64 = 0
  }

  private let truth: any SourceOfTruth<Key, Value>
  let writesBehind: Bool
  private let onError: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "store.storage", qos: .utility)
  private let state = Guarded(State())
  /// Held while the source of truth is written to, and while nothing else is called.
  private let turn = NSLock()

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
      state.lastID += 1
      let job = Job(id: state.lastID, work: work)
      state.jobs.append(job)
      switch work {
      case .write(let stored, let key): return (job, state.newest.updateValue((job.id, stored), forKey: key) as Any)
      case .remove(let key): return (job, state.newest.updateValue((job.id, nil), forKey: key) as Any)
      case .removeAll:
        state.removingAll = job
        return (job, exchange(&state.newest, with: [:]))
      }
    }
  }

  /// What the source of truth will have for a key once all work is done; if reading fails, reports the error and
  /// returns `nil`.
  func current(_ key: Key) -> StoredValue<Value>? {
    let pending: StoredValue<Value>?? = state.withLock { state in
      if let newest = state.newest[key] { return .some(newest.stored) }
      return state.removingAll == nil ? nil : .some(nil)
    }
    if let pending { return pending }
    do {
      return try truth.read(key)
    } catch {
      report(error)
      return nil
    }
  }

  /// The keys that the source of truth will have once all work is done.
  func keys() throws -> Set<Key> {
    let (newest, isEmptied) = state.withLock { ($0.newest, $0.removingAll != nil) }
    var keys = isEmptied ? [] : Set(try truth.keys())
    for (key, work) in newest {
      if work.stored == nil { keys.remove(key) } else { keys.insert(key) }
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
    if let error = job.error { onError(error) }
    completion(job.error)
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
    turn.lock()
    defer { turn.unlock() }
    for job in state.withLock({ exchange(&$0.jobs, with: []) }) {
      do { try perform(job) } catch { job.error = error }
      markDone(job)
    }
  }

  private func perform(_ job: Job) throws {
    switch job.work {
    // Superseded work is skipped.
    case .write(let stored, let key): if isNewest(job, for: key) { try truth.write(stored, for: key) }
    case .remove(let key): if isNewest(job, for: key) { try truth.remove(key) }
    case .removeAll: try truth.removeAll()
    }
  }

  private func isNewest(_ job: Job, for key: Key) -> Bool {
    state.withLock { $0.newest[key]?.id == job.id }
  }

  private func markDone(_ job: Job) {
    let released = state.withLock { state -> Any? in
      switch job.work {
      case .write(_, let key), .remove(let key):
        return state.newest[key]?.id == job.id ? state.newest.removeValue(forKey: key) : nil
      case .removeAll:
        if state.removingAll === job { state.removingAll = nil }
        state.hasRemains = job.error != nil
        return nil
      }
    }
    // Released here, outside the lock.
    _ = released
  }
}
