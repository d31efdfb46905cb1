import Dispatch
import Foundation
import Streams

/// The writes that wait for the source of truth, in the order of the store's own state.
///
/// Work is put in under the store's lock, and done outside of it, by one thread at a time. Who put it in hears how it
/// went on its own thread, so that one who takes long over that keeps nobody waiting.
final class StorageQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  enum Work: Sendable {
    case write(StoredValue<Value>, Key)
    case remove(Key)
    case removeAll
  }

  /// Work that was put in, and how it went.
  ///
  /// `@unchecked Sendable`: the error is set by who has the turn, and read by others after a turn of their own.
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
    /// The newest work for a key that is not done yet; a value of `nil` is a removal.
    var newest: [Key: (id: UInt64, stored: StoredValue<Value>?)] = [:]
    /// The newest removal of everything that is not done yet.
    var removingAll: UInt64?
    var lastID: UInt64 = 0
  }

  private let truth: any SourceOfTruth<Key, Value>
  let writesBehind: Bool
  private let onError: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "store.storage", qos: .utility)
  private let state = Guarded(State())
  /// Held while the source of truth is written to, and by nobody who calls anything else.
  private let turn = NSLock()

  init(
    _ truth: any SourceOfTruth<Key, Value>, writesBehind: Bool, onError: @escaping @Sendable (any Error) -> Void
  ) {
    self.truth = truth
    self.writesBehind = writesBehind
    self.onError = onError
  }

  /// Puts work in, which the caller has to finish; gives back, too, what has to be released outside of the store's lock.
  func enqueue(_ work: Work) -> (job: Job, garbage: Any) {
    state.withLock { state in
      state.lastID += 1
      let job = Job(id: state.lastID, work: work)
      state.jobs.append(job)
      switch work {
      case .write(let stored, let key): return (job, state.newest.updateValue((job.id, stored), forKey: key) as Any)
      case .remove(let key): return (job, state.newest.updateValue((job.id, nil), forKey: key) as Any)
      case .removeAll:
        state.removingAll = job.id
        return (job, exchange(&state.newest, with: [:]))
      }
    }
  }

  /// What the source of truth will hold for a key when all is done; an error is reported, and counts as nothing.
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

  /// The keys that the source of truth will have when all is done.
  func keys() throws -> Set<Key> {
    let (newest, isEmptied) = state.withLock { ($0.newest, $0.removingAll != nil) }
    var keys = isEmptied ? [] : Set(try truth.keys())
    for (key, work) in newest {
      if work.stored == nil { keys.remove(key) } else { keys.insert(key) }
    }
    return keys
  }

  func report(_ error: any Error) { onError(error) }

  /// Does what waits, and says how a job went, which was done by this thread or another.
  func finish(_ job: Job, then completion: ((any Error)?) -> Void) {
    performAll()
    if let error = job.error { onError(error) }
    completion(job.error)
  }

  /// The same on a queue.
  func finishLater(_ job: Job) {
    queue.async { self.finish(job) { _ in } }
  }

  /// Does what waits, on a queue, after what was to be finished there; then runs the completion.
  func flush(then completion: @escaping @Sendable () -> Void) {
    queue.async {
      self.performAll()
      completion()
    }
  }

  /// When it returns, all that was put in before is done, by this thread or another.
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
    // Work that was overtaken need not be done.
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
        if state.removingAll == job.id { state.removingAll = nil }
        return nil
      }
    }
    // Released here, outside the lock.
    _ = released
  }
}
