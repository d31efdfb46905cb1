internal import Dispatch
internal import HTTPClientCore
internal import Streams
internal import SystemBase
import SystemBase

extension Outbox {
  /// Adds a submitted mutation, and sends it; runs on the queue.
  func add(_ mutation: Mutation, id: String, _ subscribedAt: ContinuousClock.Instant) {
    do {
      // Another outbox of the folder may be open, which would not hear of it.
      if state.withLock({ $0.acceptsNothing }) { throw OutboxError.closed }
      let entry = try folder.append(mutation, id: id, now: clock.now, requestedAt: subscribedAt)
      note(entry)
      endArrival(of: entry)
      joinTurn(for: entry)
    } catch {
      let waiter = state.withLock { state in
        state.arriving.remove(id)
        return state.waiters.removeValue(forKey: id)
      }
      fail(waiter, error)
      endIfSignedOut(error)
    }
  }

  /// Sends what waits, unless nothing does, or the server has failed shortly before.
  func flushSoon() {
    let now = uptime
    if state.withLock({ !$0.known.waiting.isEmpty && $0.pause.reason(now: now) == nil }) {
      joinTurn(.afterPause)
    }
  }

  /// Sends what waits, unless the server has failed shortly before. All callers before the turn begins share it; one
  /// that has begun cannot be joined, since it may already have concluded that the caller's entry has to wait.
  /// - Parameters:
  ///   - submitted: An entry whose submitter gets its outcome by the end of the turn.
  ///   - urgency: Whether to make an attempt during a pause.
  @discardableResult
  func joinTurn(
    for submitted: Entry? = nil, lockTimeout: Duration? = nil, _ urgency: Urgency = .ifBlocked
  ) -> Task<OutboxReport<Mutation>, Never> {
    let lockTimeout = lockTimeout ?? self.lockTimeout
    return state.withLock { state in
      let index = state.coming.firstIndex { $0.lockTimeout == lockTimeout } ?? addTurn(to: &state, lockTimeout)
      if let submitted { state.coming[index].submitted.append(submitted) }
      if urgency.rawValue > state.coming[index].urgency.rawValue { state.coming[index].urgency = urgency }
      return state.coming[index].task
    }
  }

  /// Adds a turn after all that were requested earlier; returns its place among those that have not begun.
  private func addTurn(to state: inout State, _ lockTimeout: Duration) -> Int {
    state.lastNumber += 1
    let number = state.lastNumber
    let task = Task { [previous = state.turn] in
      _ = await previous?.value
      return await runTurn(number)
    }
    state.turn = task
    state.coming.append(ComingTurn(number: number, lockTimeout: lockTimeout, task: task, urgency: .afterPause))
    return state.coming.count - 1
  }

  private func runTurn(_ number: UInt64) async -> OutboxReport<Mutation> {
    let turn = state.withLock { state in
      state.coming.firstIndex { $0.number == number }.map { state.coming.remove(at: $0) }
    }
    var report = OutboxReport<Mutation>()
    guard let turn else { return report }
    do {
      try checkOpen()
      if try await onQueue({ try self.refresh() }) {
        if let reason = await onQueue({ self.reasonToPause(turn.urgency) }) { throw reason }
        let letOthersSend = try await waitToSend(turn.lockTimeout)
        defer { letOthersSend() }
        // The process that was sending until now may have begun a pause.
        if let reason = await onQueue({ self.reasonToPause(turn.urgency) }) { throw reason }
        try await sendAll(&report)
      }
    } catch {
      report.error = error
      endIfSignedOut(error)
    }
    report.unreadable = state.withLock { $0.unreadable }
    for entry in turn.submitted { await conclude(entry, report.error) }
    scheduleNextAttempt(after: report.error)
    await publisher.delivered()
    return report
  }

  private func checkOpen() throws {
    if isSignedOut.value { throw OutboxError.signedOut }
    if state.withLock({ $0.isClosed }) {
      throw RequestError(.cancelled, "The outbox was closed: the next one of its folder sends the change.")
    }
  }

  /// Why nothing is sent now, because of an attempt that was made here or in another process.
  private func reasonToPause(_ urgency: Urgency) -> RequestError? {
    let (kept, now) = (folder.pause(), uptime)
    let (old, reason) = state.withLock { state in
      let old = state.pause
      state.pause.follow(kept, now: now)
      return (old, state.pause.reason(now: now))
    }
    // Released here, outside the lock.
    withExtendedLifetime(old) {}
    guard let reason, urgency != .now else { return nil }
    // An entry that is not idempotent, and may have been sent, no longer waits.
    let isBlocked = OutboxVerdict(reason, isIdempotent: true) == .blocked
    return isBlocked && urgency == .ifBlocked ? nil : reason
  }

  /// Makes the next attempt after the pause by itself, if something waits, or is to be removed: also what was queued again
  /// behind the place where the turn was.
  private func scheduleNextAttempt(after failure: (any Error)?) {
    let (now, isOver, hasFinished) = (uptime, self.isOver, self.hasFinished)
    let (old, timer, delay) = state.withLock { state -> (OutboxPause, (any Disposable)?, Duration?) in
      let old = state.pause
      guard let failure, !isOver else {
        // What arrives, or has come since the turn began, has a turn of its own.
        let waits =
          state.coming.isEmpty && (hasFinished || state.known.waiting.contains { !state.arriving.contains($0.id) })
        if waits, !isOver { return (old, nil, state.pause.remaining(now: now) ?? Self.firstDelay) }
        // In the same step: the timer of what is queued again from now on stays.
        return (old, exchange(&state.timer, with: nil), nil)
      }
      if state.pause.remaining(now: now) == nil {
        state.pause.begin(attempts: 0, because: RequestError(wrapping: failure), holdsBack: false, now: now)
      }
      return (old, nil, state.pause.remaining(now: now))
    }
    // Released here, outside the lock.
    withExtendedLifetime(old) {}
    timer?.dispose()
    if let delay { setTimer(after: delay) }
  }

  /// Makes an attempt later by itself.
  func setTimer(after delay: Duration) {
    let timer = scheduler.schedule(after: delay) { [weak self] in _ = self?.joinTurn() }
    state.withLock { exchange(&$0.timer, with: timer) }?.dispose()
    // A sign-out, or closing, may have come before the timer was there.
    if isOver { timer.dispose() }
  }

  private func sendAll(_ report: inout OutboxReport<Mutation>) async throws {
    // Entries added later have a turn of their own, in the process where a submitter may wait for them.
    let newest = try await onQueue { try self.refresh() ? self.newest : nil }
    var place: OutboxFileName?
    while let name = await onQueue({ [place] in self.next(after: place) }), let newest, name <= newest {
      place = name
      // What stores change from now on is later than the request.
      await publisher.shown()
      try checkOpen()
      guard let entry = try await onQueue({ try self.reread(name, isToBeSent: true) }) else { continue }
      if let error = try await attempt(entry, &report) {
        report.error = error
        return
      }
    }
  }

  /// Waits until no other process is sending. It polls, since waiting for the lock itself could not be interrupted.
  private func waitToSend(_ lockTimeout: Duration) async throws -> @Sendable () -> Void {
    let deadline = ContinuousClock.now + lockTimeout
    while true {
      if let letOthersSend = try await onQueue({ try self.folder.trySend() }) { return letOthersSend }
      try checkOpen()
      guard ContinuousClock.now < deadline else {
        throw RequestError(
          .timedOut, "Another process is sending what waits: try again, or end that process if it hangs.",
          cause: OutboxError.busy)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Sends an entry; returns an error if this entry, and with it all others, has to wait.
  private func attempt(_ entry: Entry, _ report: inout OutboxReport<Mutation>) async throws -> RequestError? {
    var entry = entry
    let isIdempotent = isIdempotent(entry.mutation)
    if !isIdempotent {
      guard entry.attempts == 0 else {
        let error = RequestError(.cancelled, "An attempt was cut off: the server may or may not have carried it out.")
        try await reject(entry, error, &report)
        return nil
      }
      do {
        // If the process ends during the attempt, the next one sees that it was made.
        guard let noted = try await change(entry.name, { $0.attempts = 1 }) else { return nil }
        entry = noted
      } catch {
        // On disk it may look as if it had been sent, and then it never is: so do not say that it waits.
        try await dismiss(entry, error, &report)
        throw error
      }
    }
    let response: Response
    do {
      response = try await send(entry.mutation, entry.id).take(until: isSignedOut.asObservable().filter { $0 }).value
    } catch {
      if isSignedOut.value { throw OutboxError.signedOut }
      return try await judge(entry, RequestError(wrapping: error), isIdempotent, &report)
    }
    let waiter = takeWaiter(entry.id)
    do {
      report.error = try await finish(entry, response, waiter) ?? report.error
      report.sent.append(entry)
      return nil
    } catch {
      fail(waiter, error)
      throw error
    }
  }

  /// Removes an entry that was sent, and reports the response, once the stores that show the entry have written it:
  /// else the change would be neither waiting nor cached if the process ended in between. Returns the error if the
  /// entry cannot be removed.
  private func finish(
    _ entry: Entry, _ response: Response, _ waiter: AnyObserver<Response>?
  ) async throws -> (any Error)? {
    let isKnown = try await onQueue {
      // Another process may have signed the account out during the attempt.
      if self.folder.isSignedOut { throw OutboxError.signedOut }
      self.endPause()
      return self.state.withLock { $0.known[entry.name] != nil }
    }
    if isKnown { await publisher.write(response, of: entry) }
    if isSignedOut.value { throw OutboxError.signedOut }
    return try await onQueue {
      let failure = try self.end(entry, .sent(entry, response))
      if let waiter {
        self.publisher.answer {
          waiter.onNext(response)
          waiter.onCompleted()
        }
      }
      return failure
    }
  }

  private func judge(
    _ entry: Entry, _ failure: RequestError, _ isIdempotent: Bool, _ report: inout OutboxReport<Mutation>
  ) async throws -> RequestError? {
    let verdict = OutboxVerdict(failure, isIdempotent: isIdempotent)
    switch verdict {
    case .notSent, .blocked:
      // The server was reached. What blocks may be different in another process, such as its token.
      if verdict == .blocked || failure.status != nil {
        await pause(attempts: 0, failure, isShared: verdict == .notSent)
      }
      if verdict == .blocked { publisher.report(refusal: failure) }
      if isIdempotent { return failure }
      do {
        _ = try await change(entry.name) { $0.forgetAttempts() }
        return failure
      } catch {
        // On disk it looks as if it had been sent, so it would not be sent again: do not say that it waits.
        try await reject(entry, failure, &report)
      }
    case .mayHaveBeenSent where isIdempotent:
      let (now, uptime) = (clock.now, uptime)
      var counted = entry
      guard counted.countAttempt(now: now, uptime: uptime) else {
        try await reject(entry, failure, &report)
        return nil
      }
      await pause(attempts: counted.attempts, failure, isShared: true)
      // The count only limits the attempts: if it cannot be written, as on a full disk, the entry still waits.
      _ = try? await change(entry.name) { _ = $0.countAttempt(now: now, uptime: uptime) }
      return failure
    case .mayHaveBeenSent:
      try await reject(entry, failure, &report)
      // Otherwise a server that is down would cause all entries to be set aside, one after the other.
      guard state.withLock({ !$0.known.waiting.isEmpty }) else { break }
      await pause(attempts: 1, failure, isShared: true)
      return failure
    case .refused:
      try await reject(entry, failure, &report)
    }
    return nil
  }

  private func pause(attempts: Int, _ reason: RequestError, isShared: Bool) async {
    let now = uptime
    let (old, kept) = state.withLock { state in
      let old = state.pause
      state.pause.begin(attempts: attempts, because: reason, holdsBack: true, now: now)
      return (old, state.pause.kept)
    }
    // Released here, outside the lock.
    withExtendedLifetime(old) {}
    guard isShared, let kept else { return }
    await onQueue {
      // Without room for it, this process pauses alone: no file does not mean that another one has ended the pause
      // then.
      if self.folder.keep(kept) { self.state.withLock { $0.pause.note(kept) } }
    }
  }

  /// Ends the pause here and for all processes; runs on the queue.
  private func endPause() {
    let kept = folder.pause()
    let old = state.withLock { state in
      let old = state.pause
      state.pause.end(kept)
      return old
    }
    // Released here, outside the lock.
    withExtendedLifetime(old) {}
    if kept != nil { folder.endPause() }
  }

  /// Runs work that may block, on a device or another process, on the outbox's queue.
  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try work() }) }
    }
  }

  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: work()) } }
  }
}
