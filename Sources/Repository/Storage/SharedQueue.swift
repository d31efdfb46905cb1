import HTTP
import Platform
import Streams

/// The changes that wait for an asynchronous source of truth.
///
/// Work is added under the store's lock, and carried out in tasks, for which no thread waits: one change of a key at a
/// time, those of several keys at once. A change that replaces one of its key that was not begun ends for both.
///
/// Work that has failed is outstanding: reads count it as done, and it is tried again after a pause, when the source
/// reports that it is back, and before a report about its key is believed. Versions decide which change of a key stays,
/// so it does not matter when the source gets it. At most ``limit`` keys have outstanding work; what fails beyond that is
/// given up, and then the value of the source counts as out of date in this process.
final class SharedQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What is to be done to one key.
  enum Work: Sendable {
    /// A value, and the invalidation that came after it: the value is marked, but if the source does not take it, what it
    /// has instead is out of date.
    case write(StoredValue<Value>, isResponse: Bool, invalidation: EntryVersion? = nil)
    case invalidate(EntryVersion)
    case remove(EntryVersion)
  }

  /// What the source has done instead of what it was to do.
  enum Notice: Sendable {
    /// The version that it had was greater, only since this process had not seen it: the change has got a greater one.
    case renamed(EntryVersion, to: EntryVersion)
    /// It has not taken the change of this version, since it has a newer one.
    case superseded(EntryVersion)
  }

  /// Who waits for a change; the numbers grow.
  fileprivate struct Waiter {
    let number: UInt64
    let completion: WriteCompletion
  }

  fileprivate struct Job {
    var work: Work
    var waiters: [Waiter]
    /// Whether it has failed before.
    var isOutstanding = false
    /// Whether it has a value that had failed before: others may have written after it.
    var isLate = false

    /// New work in the place of the earlier work on the key, which is not done.
    init(_ work: Work, after earlier: Job?, waiters: [Waiter]) {
      self.work = earlier.map { work.merged(after: $0.work) } ?? work
      self.waiters = (earlier?.waiters ?? []) + waiters
      if case .invalidate = work, let earlier { isLate = earlier.isOutstanding || earlier.isLate }
    }
  }

  /// The work of one key, which is never empty.
  fileprivate struct Line {
    var running: Job?
    var waiting: Job?
    /// Called when all that is in the line now has been tried.
    var settling: [@Sendable () -> Void] = []
  }

  fileprivate struct Removal {
    let version: EntryVersion
    var waiters: [Waiter] = []
    var isRunning = false
    var isOutstanding = false
  }

  fileprivate struct State {
    var lines: [Key: Line] = [:]
    var runningCount = 0
    /// While it is there, no other work begins.
    var removal: Removal?
    var nextRemoval: Removal?
    var suspicions = Suspects()
    var failures = 0
    var timer: (any Disposable)?
    var flushes: [@Sendable () -> Void] = []
    var onNotice: (@Sendable (Key, Notice) -> EntryVersion?)?
    /// The number of the last one who waits.
    var lastNumber: UInt64 = 0

    mutating func waiters(_ completion: WriteCompletion?) -> [Waiter] {
      guard let completion else { return [] }
      lastNumber += 1
      return [Waiter(number: lastNumber, completion: completion)]
    }

    /// Takes out those who have begun to wait by then, for a change of a key, or the removal of everything, that was not begun.
    mutating func takeLate(through number: UInt64, _ key: Key?) -> [Waiter] {
      var late = nextRemoval?.waiters.take(through: number) ?? []
      if removal?.isRunning == false { late += removal?.waiters.take(through: number) ?? [] }
      if let key { late += lines[key]?.waiting?.waiters.take(through: number) ?? [] }
      return late
    }

    /// What waits for all work, if there is none to be tried.
    mutating func flushesIfIdle() -> [@Sendable () -> Void] {
      flushes.isEmpty || !isIdle ? [] : exchange(&flushes, with: [])
    }

    /// Whether nothing is to be tried but what has failed.
    var isIdle: Bool {
      if let removal { return !removal.isRunning && removal.isOutstanding && runningCount == 0 }
      return lines.values.allSatisfy { $0.running == nil && $0.waiting?.isOutstanding != false }
    }
  }

  /// The keys whose value in the source is out of date, since outstanding work was given up.
  fileprivate struct Suspects {
    private var keys: Set<Key> = []
    private var isEverything = false

    func contains(_ key: Key) -> Bool { isEverything || keys.contains(key) }

    mutating func insert(_ key: Key) {
      if keys.count < SharedQueue.limit { keys.insert(key) } else { isEverything = true }
    }

    mutating func insertAll() { isEverything = true }
    mutating func remove(_ key: Key) { keys.remove(key) }
  }

  /// The greatest number of keys with outstanding work.
  static var limit: Int { 1 << 14 }

  let truth: any AsyncSourceOfTruth<Key, Value>
  private let scheduler: any Scheduler
  private let backoff = Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0.5)
  private let onError: @Sendable (any Error) -> Void
  private let state = Locked(State())
  private let busyAction = Locked<(@Sendable () -> Void)?>(nil)

  /// - Parameter scheduler: Measures how long the source takes.
  init(
    _ truth: any AsyncSourceOfTruth<Key, Value>, scheduler: any Scheduler,
    onError: @escaping @Sendable (any Error) -> Void
  ) {
    self.truth = truth
    self.scheduler = scheduler
    self.onError = onError
  }

  deinit { state.withLock { exchange(&$0.timer, with: nil) }?.dispose() }

  /// Sets what is called with each notice, on any thread. For a version that was renamed it is asked for the new one:
  /// `renamed(old, to: the source's)`; `nil` gives the change up.
  func setNotice(_ onNotice: @escaping @Sendable (Key, Notice) -> EntryVersion?) {
    state.withLock { $0.onNotice = onNotice }
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
      line.waiting = Job(work, after: old, waiters: state.waiters(completion))
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
          state.flushes += line.settling
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

  /// Begins the work of a key, unless some is running, after which it begins by itself.
  func begin(_ key: Key) {
    busyAction.withLock { $0 }?()
    let work = state.withLock { take(key, of: &$0) }
    if let work { Task { await self.run(work, key) } } else { limitWait(for: key) }
  }

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
    let version = state.withLock { state -> EntryVersion? in
      guard state.runningCount == 0, let removal = state.removal, !removal.isRunning else { return nil }
      state.removal?.isRunning = true
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

  /// Begins all that waits, and all that has failed once more.
  func beginAll() {
    beginRemoval()
    let keys = state.withLock { state in
      state.removal == nil ? state.lines.filter { $0.value.waiting != nil }.map(\.key) : []
    }
    for key in keys { begin(key) }
  }

  /// Whether something waits, or is outstanding.
  var isBusy: Bool { state.withLock { !$0.lines.isEmpty || $0.removal != nil } }

  /// Sets what to call, without a lock, when there is work.
  func onBusy(_ action: @escaping @Sendable () -> Void) { busyAction.withLock { $0 = action } }

  /// Calls back when all earlier work is done or has failed; what has failed before is tried once more.
  func flush(then completion: @escaping @Sendable () -> Void) {
    beginAll()
    let isIdle = state.withLock { state in
      if !state.isIdle { state.flushes.append(completion) }
      return state.isIdle
    }
    if isIdle { completion() }
  }

  /// Calls back when the work of a key has been tried, with whether it is done; at once if there is none.
  func settle(_ key: Key, then completion: @escaping @Sendable (_ isDone: Bool) -> Void) {
    let isPending = state.withLock { state in
      guard state.lines[key] != nil else { return false }
      state.lines[key]?.settling.append { [weak self] in
        completion(self?.state.withLock { $0.lines[key] == nil } ?? false)
      }
      return true
    }
    if !isPending { return completion(true) }
    begin(key)
  }
}

/// Carrying out work.
extension SharedQueue {
  private func run(_ first: Work, _ key: Key) async {
    var next: Work? = first
    while let work = next {
      var failure: (any Error)?
      do {
        try await limited({ [weak self] in self?.takeWaiters(key) ?? [] }) { try await self.perform(work, key) }
      } catch { failure = error }
      next = end(key, failure)
    }
    let (isRemovalDue, flushes) = state.withLock { state in
      state.runningCount -= 1
      return (state.removal != nil && state.runningCount == 0, state.flushesIfIdle())
    }
    if isRemovalDue { beginRemoval() }
    for flush in flushes { flush() }
  }

  /// Ends the work of a key, and takes the next. What has failed waits again, below what has come meanwhile.
  private func end(_ key: Key, _ failure: (any Error)?) -> Work? {
    let (old, settled, isFirstFailure, next) = state.withLock {
      state -> (Job?, [@Sendable () -> Void], Bool, Work?) in
      guard var line = state.lines[key], let job = exchange(&line.running, with: nil) else {
        return (nil, [], false, nil)
      }
      if failure == nil {
        state.failures = 0
        state.suspicions.remove(key)
      } else if state.removal == nil, state.lines.count <= Self.limit {
        var failed = job
        (failed.waiters, failed.isOutstanding) = ([], true)
        line.waiting = line.waiting.map { Job($0.work, after: failed, waiters: $0.waiters) } ?? failed
      } else if state.removal == nil {
        state.suspicions.insert(key)
      }
      let isToBeTried = line.waiting.map { !$0.isOutstanding } ?? false && state.removal == nil
      let settled = isToBeTried ? [] : exchange(&line.settling, with: [])
      if isToBeTried { line.running = exchange(&line.waiting, with: nil) }
      state.lines[key] = line.running == nil && line.waiting == nil ? nil : line
      return (job, settled, failure != nil && !job.isOutstanding, line.running?.work)
    }
    if let failure {
      if isFirstFailure { onError(failure) }
      tryAgainLater()
    }
    call(old?.waiters ?? [], failure)
    for action in settled { action() }
    return next
  }

  private func run(removal version: EntryVersion) async {
    var failure: (any Error)?
    do {
      try await limited({ [weak self] in
        self?.state.withLock { state in
          defer { state.removal?.waiters = [] }
          return state.removal?.waiters ?? []
        } ?? []
      }) { [truth] in try await truth.removeAll(version: version) }
    } catch { failure = error }
    let (waiters, isFirstFailure, hasNext) = state.withLock { state -> ([Waiter], Bool, Bool) in
      let isFirst = failure != nil && state.removal?.isOutstanding == false
      let waiters = state.removal?.waiters ?? []
      if failure == nil {
        state.failures = 0
        state.suspicions = Suspects()
        state.removal = exchange(&state.nextRemoval, with: nil)
      } else if let next = exchange(&state.nextRemoval, with: nil) {
        state.removal = next
      } else {
        state.removal?.isRunning = false
        state.removal?.isOutstanding = true
        state.removal?.waiters = []
      }
      return (waiters, isFirst, state.removal?.isOutstanding == false)
    }
    if let failure {
      if isFirstFailure { onError(failure) }
      tryAgainLater()
    }
    call(waiters, failure)
    if hasNext { return beginRemoval() }
    if failure == nil { beginAll() }
    let (flushes, late) = state.withLock { state -> ([@Sendable () -> Void], [Waiter]) in
      // What waits behind a removal that has failed is outstanding, too.
      var late: [Waiter] = []
      if state.removal != nil {
        for key in state.lines.keys {
          late += state.lines[key]?.waiting.map(\.waiters) ?? []
          state.lines[key]?.waiting?.waiters = []
        }
      }
      return (state.flushesIfIdle(), late)
    }
    call(late, failure)
    for flush in flushes { flush() }
  }

  /// Cancels what takes longer than the limit, and completes it for those who wait; but waits for its end nonetheless:
  /// else it might end after a later change.
  private func limited(
    _ takeWaiters: @escaping @Sendable () -> [Waiter], _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let task = Task { try await body() }
    let timer = scheduler.schedule(after: truth.timeLimit) { [weak self] in
      task.cancel()
      self?.call(takeWaiters(), RequestError(.timedOut, "The source of truth has taken too long for a change."))
    }
    defer { timer.dispose() }
    try await task.value
  }

  private func takeWaiters(_ key: Key) -> [Waiter] {
    state.withLock { state in
      defer { state.lines[key]?.running?.waiters = [] }
      return state.lines[key]?.running?.waiters ?? []
    }
  }

  /// Calls completions, which may run the user's code, on a thread that is none of Swift's pool.
  private func call(_ waiters: [Waiter], _ error: (any Error)?) {
    for waiter in waiters { _ = ElasticScheduler().schedule { waiter.completion(error) } }
  }

  private func perform(_ work: Work, _ key: Key) async throws {
    let isNew = state.withLock { state in state.lines[key]?.running.map { !$0.isOutstanding && !$0.isLate } ?? false }
    var work = work
    // Each round ends with a greater version than the source had, so a second one is rare.
    for _ in 0..<8 {
      guard case .superseded(let version) = try await attempt(work, key) else { return }
      if case .write(_, let isResponse, let invalidation) = work, isResponse || !isNew {
        // The invalidation came after the value, and concerns what the source has instead.
        if let invalidation { _ = try await truth.invalidate(key, version: invalidation) }
        break
      }
      let onNotice = state.withLock { $0.onNotice }
      guard isNew, let greater = onNotice?(key, .renamed(work.version, to: version)) else { break }
      work.version = greater
    }
    _ = state.withLock { $0.onNotice }?(key, .superseded(work.version))
  }

  private func attempt(_ work: Work, _ key: Key) async throws -> SourceWriteResult {
    switch work {
    case .write(let stored, let isResponse, _): try await truth.write(stored, for: key, isResponse: isResponse)
    case .invalidate(let version): try await truth.invalidate(key, version: version)
    case .remove(let version): try await truth.remove(key, version: version)
    }
  }

  /// Tries what has failed again after a pause, which grows while nothing succeeds.
  private func tryAgainLater() {
    let delay = state.withLock { state -> Duration? in
      if state.timer != nil { return nil }
      state.failures += 1
      return backoff.delay(after: state.failures)
    }
    guard let delay else { return }
    let timer = scheduler.schedule(after: delay) { [weak self] in
      self?.state.withLock { exchange(&$0.timer, with: nil) }?.dispose()
      self?.beginAll()
    }
    let unused = state.withLock { state -> (any Disposable)? in
      if state.timer != nil { return timer }
      state.timer = timer
      return nil
    }
    unused?.dispose()
  }
}

/// Reading, with what is not done yet.
extension SharedQueue {
  /// What the source has for a key, once all work is done. Calls back on this thread, or when the source has returned the
  /// value, or has not within its limit.
  func read(_ key: Key, then completion: @escaping @Sendable (StorageReading<Value>) -> Void) {
    if let pending = pending(key) { return completion(pending) }
    let waiting = Locked<(@Sendable (StorageReading<Value>) -> Void)?>(completion)
    let end: @Sendable (StorageReading<Value>) -> Void = { reading in
      waiting.withLock { exchange(&$0, with: nil) }?(reading)
    }
    let task = Task {
      do {
        let stored = try await truth.read(key)
        end(self.pending(key) ?? self.result(stored, of: key))
      } catch {
        self.onError(error)
        end(.failed)
      }
    }
    // The value counts as missing even if the source ignores that it is cancelled.
    let timer = scheduler.schedule(after: truth.timeLimit) {
      task.cancel()
      end(.failed)
    }
    Task {
      await task.value
      timer.dispose()
    }
  }

  /// What a read returns because of work that is not done; `nil` if the source has to be asked.
  func pending(_ key: Key) -> StorageReading<Value>? {
    state.withLock { state in
      guard let line = state.lines[key] else { return state.removal == nil ? nil : .missing }
      var isInvalidated = false
      for job in [line.waiting, line.running] {
        switch job?.work {
        case .write(var stored, _, _)?:
          stored.isInvalidated = stored.isInvalidated || isInvalidated
          return .found(stored)
        case .remove?: return .missing
        case .invalidate?: isInvalidated = true
        case nil: break
        }
      }
      return state.removal == nil ? nil : .missing
    }
  }

  private func result(_ stored: StoredValue<Value>?, of key: Key) -> StorageReading<Value> {
    guard var stored else { return .missing }
    let isOutOfDate = state.withLock { $0.suspicions.contains(key) || $0.lines[key] != nil }
    if isOutOfDate { stored.isInvalidated = true }
    return .found(stored)
  }

  /// Lets what the source has for a key count as out of date until it is replaced.
  func suspect(_ key: Key) { state.withLock { $0.suspicions.insert(key) } }

  /// Ends the suspicion about a key that others have changed.
  func clearSuspicion(of key: Key) { state.withLock { $0.suspicions.remove(key) } }

  /// The keys that the source has, within its limit; none if it cannot say. Then what it has is out of date for this
  /// process.
  func keys(then completion: @escaping @Sendable (Set<Key>) -> Void) {
    let waiting = Locked<(@Sendable (Set<Key>) -> Void)?>(completion)
    let end: @Sendable (Set<Key>?) -> Void = { keys in
      guard let completion = waiting.withLock({ exchange(&$0, with: nil) }) else { return }
      if keys == nil { self.state.withLock { $0.suspicions.insertAll() } }
      completion(keys ?? [])
    }
    let task = Task {
      do { end(Set(try await truth.keys())) } catch {
        onError(error)
        end(nil)
      }
    }
    let timer = scheduler.schedule(after: truth.timeLimit) {
      task.cancel()
      end(nil)
    }
    Task {
      await task.value
      timer.dispose()
    }
  }
}

extension SharedQueue.Work {
  var version: EntryVersion {
    get {
      switch self {
      case .write(let stored, _, _): stored.version
      case .invalidate(let version), .remove(let version): version
      }
    }
    set {
      switch self {
      case .write(var stored, let isResponse, let invalidation):
        stored.version = newValue
        self = .write(stored, isResponse: isResponse, invalidation: invalidation)
      case .invalidate: self = .invalidate(newValue)
      case .remove: self = .remove(newValue)
      }
    }
  }

  /// This work in the place of earlier work on the key that is not done.
  fileprivate func merged(after earlier: Self) -> Self {
    guard case .invalidate(let version) = self else { return self }
    switch earlier {
    case .write(var stored, let isResponse, _):
      stored.isInvalidated = true
      return .write(stored, isResponse: isResponse, invalidation: version)
    case .remove: return earlier
    case .invalidate: return self
    }
  }
}

extension Array {
  /// Takes out those with numbers up to this one.
  fileprivate mutating func take<Key, Value>(through number: UInt64) -> [Element]
  where Element == SharedQueue<Key, Value>.Waiter {
    let late = filter { $0.number <= number }
    removeAll { $0.number <= number }
    return late
  }
}

/// What a source of truth has for a key.
enum StorageReading<Value: Sendable>: Sendable {
  case found(StoredValue<Value>)
  case missing
  /// It could not be read, which was reported.
  case failed
}
