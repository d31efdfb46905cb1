import Dispatch

/// The writes that wait for the source of truth, in the order of the store's own state.
///
/// Work is put in under the store's lock, and done outside of it by one thread at a time: the one that came first.
final class StorageQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  enum Work: Sendable {
    case write(StoredValue<Value>, Key)
    case remove(Key)
    case removeAll
    case nothing
  }

  private struct Job: Sendable {
    let id: UInt64
    let work: Work
    let completion: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var jobs: [Job] = []
    /// The newest work for a key that is not done yet; a value of `nil` is a removal.
    var newest: [Key: (id: UInt64, stored: StoredValue<Value>?)] = [:]
    /// The newest removal of everything that is not done yet.
    var removingAll: UInt64?
    var isWorking = false
    var isScheduled = false
    var nextID: UInt64 = 0
  }

  private let truth: any SourceOfTruth<Key, Value>
  let writesBehind: Bool
  private let onError: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "store.storage", qos: .utility)
  private let state = Locked(State())

  init(
    _ truth: any SourceOfTruth<Key, Value>, writesBehind: Bool, onError: @escaping @Sendable (any Error) -> Void
  ) {
    self.truth = truth
    self.writesBehind = writesBehind
    self.onError = onError
  }

  /// Puts work in, and gives back what has to be released outside of the store's lock.
  func enqueue(_ work: Work, completion: @escaping @Sendable ((any Error)?) -> Void = { _ in }) -> [Any] {
    state.withLock { state in
      state.nextID += 1
      let id = state.nextID
      state.jobs.append(Job(id: id, work: work, completion: completion))
      switch work {
      case .write(let stored, let key): return [state.newest.updateValue((id, stored), forKey: key) as Any]
      case .remove(let key): return [state.newest.updateValue((id, nil), forKey: key) as Any]
      case .removeAll:
        state.removingAll = id
        let gone = state.newest
        state.newest = [:]
        return [gone]
      case .nothing: return []
      }
    }
  }

  /// What the source of truth will hold for a key when all is done; `nil` where it holds that already.
  func pending(_ key: Key) -> StoredValue<Value>?? {
    state.withLock { state in
      if let newest = state.newest[key] { return .some(newest.stored) }
      return state.removingAll == nil ? nil : .some(nil)
    }
  }

  func read(_ key: Key) throws -> StoredValue<Value>? { try truth.read(key) }

  func keys() throws -> [Key] { try truth.keys() }

  func report(_ error: any Error) { onError(error) }

  /// Does what waits: now, on this thread, or behind on the queue.
  func run() {
    guard writesBehind else { return work() }
    let isFirst = state.withLock { state in
      if state.isScheduled || state.jobs.isEmpty { return false }
      state.isScheduled = true
      return true
    }
    if isFirst {
      queue.async {
        self.state.withLock { $0.isScheduled = false }
        self.work()
      }
    }
  }

  private func work() {
    let begins = state.withLock { state in
      if state.isWorking { return false }
      state.isWorking = true
      return true
    }
    guard begins else { return }
    while true {
      let jobs = state.withLock { state in
        let jobs = state.jobs
        state.jobs = []
        if jobs.isEmpty { state.isWorking = false }
        return jobs
      }
      if jobs.isEmpty { return }
      for job in jobs { finish(job, perform(job)) }
    }
  }

  private func perform(_ job: Job) -> (any Error)? {
    do {
      switch job.work {
      case .write(let stored, let key): if isNewest(job, for: key) { try truth.write(stored, for: key) }
      case .remove(let key): if isNewest(job, for: key) { try truth.remove(key) }
      case .removeAll: try truth.removeAll()
      case .nothing: break
      }
      return nil
    } catch {
      onError(error)
      return error
    }
  }

  /// Work that was overtaken need not be done.
  private func isNewest(_ job: Job, for key: Key) -> Bool {
    state.withLock { $0.newest[key]?.id == job.id }
  }

  private func finish(_ job: Job, _ error: (any Error)?) {
    let gone = state.withLock { state -> Any? in
      switch job.work {
      case .write(_, let key), .remove(let key):
        return state.newest[key]?.id == job.id ? state.newest.removeValue(forKey: key) : nil
      case .removeAll:
        if state.removingAll == job.id { state.removingAll = nil }
        return nil
      case .nothing: return nil
      }
    }
    _ = gone
    job.completion(error)
  }
}
