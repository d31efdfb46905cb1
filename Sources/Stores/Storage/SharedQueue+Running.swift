import HTTPClientCore
import Streams
import SystemBase

/// Carrying out the work of a queue in tasks, and trying again what has failed.
extension SharedQueue {
  func run(_ first: Work, _ key: Key) async {
    var next: Work? = first
    while let work = next {
      var failure: (any Error)?
      let attempt = state.withLock { $0.beginAttempt(key) }
      do {
        try await limited {
          if $0.lines[key]?.attempt == attempt { $0.lines[key]?.isStuck = true }
        } takeWaiters: { [weak self] in
          self?.takeWaiters(key) ?? []
        } body: {
          try await self.perform(work, key)
        }
      } catch { failure = error }
      next = end(key, failure)
    }
    let (isRemovalDue, flushes) = state.withLock { state in
      state.runningCount -= 1
      return (state.removal != nil && state.runningCount == 0, state.flushesIfIdle())
    }
    if isRemovalDue { beginRemoval() }
    for flush in flushes { flush.end() }
  }

  /// Ends the work of a key, and takes the next. What has failed waits again, below what has come meanwhile.
  private func end(_ key: Key, _ failure: (any Error)?) -> Work? {
    let now = scheduler.now
    let (old, settled, isFirstFailure, next) = state.withLock {
      state -> (Job?, [@Sendable () -> Void], Bool, Work?) in
      guard var line = state.lines[key], let job = exchange(&line.running, with: nil) else {
        return (nil, [], false, nil)
      }
      line.isStuck = false
      if failure == nil {
        state.failures = 0
        state.suspicions.remove(key)
        state.renewFlushes(after: job.number, now: now)
      } else if state.removal == nil, !state.isEnded, state.lines.count <= Self.limit {
        var failed = job
        (failed.waiters, failed.isOutstanding) = ([], true)
        line.waiting =
          line.waiting.map { Job($0.work, after: failed, waiters: $0.waiters, number: $0.number) } ?? failed
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
      if isFirstFailure, !failure.isSignedOut { onError(failure) }
      tryAgainLater()
    }
    call(old?.waiters ?? [], failure)
    for action in settled { action() }
    return next
  }

  func run(removal version: EntryVersion) async {
    var failure: (any Error)?
    do {
      if account.beginRemoval() {
        defer { account.endRemoval() }
        try await limitedRemoval(version) { [truth] in try await truth.removeAll(version: version) }
      } else {
        try await removeEach(version)
      }
    } catch { failure = error }
    let now = scheduler.now
    let (waiters, isFirstFailure, hasNext) = state.withLock { state -> ([Waiter], Bool, Bool) in
      let isFirst = failure != nil && state.removal?.isOutstanding == false
      let waiters = state.removal?.waiters ?? []
      if failure == nil {
        state.failures = 0
        state.suspicions = Suspects()
        state.renewFlushes(after: 0, now: now)
        state.removal = exchange(&state.nextRemoval, with: nil)
      } else if let next = exchange(&state.nextRemoval, with: nil) {
        state.removal = next
      } else if state.isEnded {
        state.removal = nil
      } else {
        state.removal?.isRunning = false
        state.removal?.isStuck = false
        state.removal?.isOutstanding = true
        state.removal?.waiters = []
      }
      if state.removal == nil { account.endRemains(by: self) }
      return (waiters, isFirst, state.removal?.isOutstanding == false)
    }
    account.notifySuccessors()
    if let failure {
      if isFirstFailure { onError(failure) }
      tryAgainLater()
    }
    call(waiters, failure)
    if hasNext { return beginRemoval() }
    if failure == nil { beginAll() }
    let (flushes, late) = state.withLock { state -> ([Flush], [Waiter]) in
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
    for flush in flushes { flush.end() }
  }

  /// Removes what is there of before a sign-out, and nothing that the account's next session has written since.
  private func removeEach(_ version: EntryVersion) async throws {
    let keys = Locked<[Key]>([])
    try await limitedRemoval(version) { [truth] in
      let present = try await truth.keys()
      keys.withLock { $0 = present }
    }
    var rest = keys.withLock { $0 }[...]
    while !rest.isEmpty {
      let some = rest.prefix(Self.concurrency)
      rest = rest.dropFirst(Self.concurrency)
      try await limitedRemoval(version) { [truth] in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for key in some { group.addTask { _ = try await truth.remove(key, version: version) } }
          try await group.waitForAll()
        }
      }
      let now = scheduler.now
      state.withLock { $0.renewFlushes(after: 0, now: now) }
    }
  }

  private func limitedRemoval(
    _ version: EntryVersion, body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await limited(
      { if $0.removal?.version == version { $0.removal?.isStuck = true } },
      takeWaiters: { [weak self] in
        self?.state.withLock { state in
          defer {
            state.removal?.waiters = []
            state.removal?.isOverdue = true
          }
          return state.removal?.waiters ?? []
        } ?? []
      }, body: body)
  }

  /// Cancels what takes longer than the limit, and completes it for those who wait; but waits for its end nonetheless:
  /// else it might end after a later change. A flush waits for that only as long again.
  private func limited(
    _ setStuck: @escaping @Sendable (inout State) -> Void, takeWaiters: @escaping @Sendable () -> [Waiter],
    body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let task = Task { try await body() }
    let timers = DisposeBag()
    let timer = scheduler.schedule(after: truth.timeLimit) { [weak self] in
      guard let self else { return }
      task.cancel()
      call(takeWaiters(), RequestError(.timedOut, "The source of truth has taken too long for a change."))
      let giveUp = scheduler.schedule(after: truth.timeLimit) { [weak self] in
        let flushes = self?.state.withLock { state in
          setStuck(&state)
          return state.flushesIfIdle()
        }
        for flush in flushes ?? [] { flush.end() }
      }
      timers.insert(giveUp)
    }
    timers.insert(timer)
    defer { timers.dispose() }
    try await task.value
  }

  private func takeWaiters(_ key: Key) -> [Waiter] {
    state.withLock { state in
      defer { state.lines[key]?.running?.waiters = [] }
      return state.lines[key]?.running?.waiters ?? []
    }
  }

  /// Calls completions, which may run the user's code, on a thread that is none of Swift's pool.
  func call(_ waiters: [Waiter], _ error: (any Error)?) {
    for waiter in waiters { _ = ElasticScheduler().schedule { waiter.completion(error) } }
  }

  private func perform(_ work: Work, _ key: Key) async throws {
    let isNew = state.withLock { state in state.lines[key]?.running.map { !$0.isOutstanding && !$0.isLate } ?? false }
    var work = work
    // An earlier session would remove this with what it has left.
    if case .older(let version) = account.remains, work.version < version { rename(&work, of: key, after: version) }
    // Each round ends with a greater version than the source had, so a second one is rare.
    for _ in 0..<8 {
      if isEnded { throw StoreError.signedOut }
      guard case .superseded(let version) = try await attempt(work, key) else { return }
      if case .write(_, let isResponse, let invalidation) = work, isResponse || !isNew {
        // The invalidation came after the value, and concerns what the source has instead.
        if let invalidation, !isEnded { _ = try await truth.invalidate(key, version: invalidation) }
        break
      }
      if !isNew || !rename(&work, of: key, after: version) { break }
    }
    _ = state.withLock { $0.onNotice }?(key, .superseded(work.version))
  }

  /// Gives work that is running a greater version than one that its store had not seen; false after a sign-out.
  @discardableResult
  private func rename(_ work: inout Work, of key: Key, after version: EntryVersion) -> Bool {
    let onNotice = state.withLock { $0.onNotice }
    guard let greater = onNotice?(key, .renamed(work.version, to: version)) else { return false }
    work.version = greater
    // For who signs the account out, and for the next attempt if this one fails.
    state.withLock { [work] in $0.lines[key]?.running?.work = work }
    return true
  }

  private var isEnded: Bool { state.withLock { $0.isEnded } }

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
      if state.timer != nil || state.isEnded { return nil }
      state.failures += 1
      return backoff.delay(after: state.failures)
    }
    guard let delay else { return }
    // Keeps the queue: what the source has not taken outlives the store.
    let timer = scheduler.schedule(after: delay) { [self] in
      state.withLock { exchange(&$0.timer, with: nil) }?.dispose()
      beginAll()
    }
    let unused = state.withLock { state -> (any Disposable)? in
      if state.timer != nil { return timer }
      state.timer = timer
      return nil
    }
    unused?.dispose()
  }
}
