import Dispatch
import Foundation
import Streams

/// The writes that wait for the source of truth, in the order of the store's own state.
///
/// Work is put in under the store's lock, and done outside of it, by one thread at a time.
final class StorageQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Completion = @Sendable ((any Error)?) -> Void

  enum Work: Sendable {
    case write(StoredValue<Value>, Key)
    case remove(Key)
    case removeAll
  }

  private struct Job: Sendable {
    let id: UInt64
    let work: Work
    let completion: Completion
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

  /// Puts work in, and gives back what has to be released outside of the store's lock.
  func enqueue(_ work: Work, completion: @escaping Completion) -> Any {
    state.withLock { state -> Any in
      state.lastID += 1
      let id = state.lastID
      state.jobs.append(Job(id: id, work: work, completion: completion))
      switch work {
      case .write(let stored, let key): return state.newest.updateValue((id, stored), forKey: key) as Any
      case .remove(let key): return state.newest.updateValue((id, nil), forKey: key) as Any
      case .removeAll:
        state.removingAll = id
        let overtaken = state.newest
        state.newest = [:]
        return overtaken
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

  /// Does what waits, on a queue; the completion runs when it is done.
  func workLater(completion: @escaping @Sendable () -> Void = {}) {
    queue.async {
      self.work()
      completion()
    }
  }

  /// Does what waits. When it returns, all that was put in before is done, by this thread or another.
  func work() {
    for (job, error) in performAll() {
      if let error { onError(error) }
      job.completion(error)
    }
  }

  private func performAll() -> [(Job, (any Error)?)] {
    turn.lock()
    defer { turn.unlock() }
    let jobs = state.withLock { state in
      let jobs = state.jobs
      state.jobs = []
      return jobs
    }
    return jobs.map { job in
      defer { finish(job) }
      do {
        try perform(job)
        return (job, nil)
      } catch {
        return (job, error)
      }
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

  private func finish(_ job: Job) {
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
