internal import Foundation
internal import HTTP
internal import Streams

extension Outbox {
  /// Sends what waits, unless the server has failed shortly before. All callers before the turn begins share it; one
  /// that has begun cannot be joined, since it may already have concluded that the caller's entry has to wait.
  /// - Parameter submitted: An entry whose submitter is told its outcome by the end of the turn.
  func joinTurn(for submitted: Entry? = nil) {
    state.withLock { state in
      if let submitted { state.submitted.append(submitted) }
      guard !state.isTurnComing else { return }
      state.isTurnComing = true
      addTurn(to: &state) { await self.runJoinedTurn() }
    }
  }

  /// Sends what waits, unless nothing does, or the server has failed shortly before.
  func flushSoon() {
    let now = clock.now
    if state.withLock({ $0.known.waitingCount > 0 && $0.pause.reason(now: now) == nil }) { joinTurn() }
  }

  /// Adds a turn after all that were requested earlier.
  @discardableResult
  func addTurn(
    to state: inout State, _ run: @escaping @Sendable () async -> OutboxReport<Mutation>
  ) -> Task<OutboxReport<Mutation>, Never> {
    let turn = Task { [previous = state.turn] in
      _ = await previous?.value
      return await run()
    }
    state.turn = turn
    return turn
  }

  private func runJoinedTurn() async -> OutboxReport<Mutation> {
    let now = clock.now
    let (submitted, reason) = state.withLock { state in
      state.isTurnComing = false
      return (exchange(&state.submitted, with: []), state.pause.reason(now: now))
    }
    var report = OutboxReport<Mutation>()
    // Someone who submits may have fixed what blocked the others, for example by signing in. An entry that is not
    // idempotent, and may have been sent, no longer waits.
    if let reason, submitted.isEmpty || OutboxVerdict(reason, isIdempotent: true) != .blocked {
      report.error = reason
    } else {
      report = await runTurn(lockTimeout)
    }
    for entry in submitted { await conclude(entry, report.error) }
    return report
  }

  func runTurn(_ lockTimeout: Duration) async -> OutboxReport<Mutation> {
    var report = OutboxReport<Mutation>()
    do {
      if try await !onQueue({ try self.look() }).isEmpty {
        let letOthersSend = try await waitToSend(lockTimeout)
        defer { letOthersSend() }
        try await sendAll(&report)
      }
    } catch {
      report.error = error
    }
    report.unreadable = state.withLock { $0.unreadable }
    return report
  }

  private func sendAll(_ report: inout OutboxReport<Mutation>) async throws {
    // Entries added later have a turn of their own, in the process where a submitter may wait for them.
    for name in try await onQueue({ try self.look() }) {
      if isSignedOut.value { throw OutboxError.signedOut }
      guard let entry = try await onQueue({ try self.reread(name) }) else { continue }
      if let error = try await attempt(entry, &report) {
        report.error = error
        return
      }
    }
  }

  /// Waits until nobody else is sending. It polls, since waiting for the lock itself could not be interrupted.
  private func waitToSend(_ lockTimeout: Duration) async throws -> @Sendable () -> Void {
    let deadline = ContinuousClock.now + lockTimeout
    while true {
      if let letOthersSend = try await onQueue({ try self.folder.trySend() }) { return letOthersSend }
      if isSignedOut.value { throw OutboxError.signedOut }
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
        await dismiss(entry, error, &report)
        throw error
      }
    }
    let answer: Response
    do {
      answer = try await send(entry.mutation, entry.id).take(until: isSignedOut.asObservable().filter { $0 }).value
    } catch {
      if isSignedOut.value { throw OutboxError.signedOut }
      return try await judge(entry, RequestError(wrapping: error), isIdempotent, &report)
    }
    report.sent.append(entry)
    let failure = await onQueue { [entry] in
      // Released here, outside the lock.
      _ = self.state.withLock { exchange(&$0.pause, with: OutboxPause()) }
      let waiter = self.takeWaiter(entry.id)
      return self.end(entry, .sent(entry, answer)) {
        waiter?.onNext(answer)
        waiter?.onCompleted()
      }
    }
    report.error = failure ?? report.error
    return nil
  }

  private func judge(
    _ entry: Entry, _ failure: RequestError, _ isIdempotent: Bool, _ report: inout OutboxReport<Mutation>
  ) async throws -> RequestError? {
    let verdict = OutboxVerdict(failure, isIdempotent: isIdempotent)
    switch verdict {
    case .notSent, .blocked:
      if verdict == .blocked || failure.status == 429 { pause(attempts: 0, failure) }
      if isIdempotent { return failure }
      do {
        _ = try await change(entry.name) { $0.attempts = 0 }
        return failure
      } catch {
        // On disk it looks as if it had been sent, so it would not be sent again: do not say that it waits.
        try await reject(entry, failure, &report)
      }
    case .mayHaveBeenSent where isIdempotent && entry.attempts + 1 < Entry.attemptLimit:
      pause(attempts: entry.attempts + 1, failure)
      // The count only limits the attempts: if it cannot be written, as on a full disk, the entry still waits.
      _ = try? await change(entry.name) { $0.attempts += 1 }
      return failure
    case .mayHaveBeenSent where !isIdempotent:
      try await reject(entry, failure, &report)
      // Otherwise a server that is down would cause all entries to be set aside, one after the other.
      guard state.withLock({ $0.known.waitingCount > 0 }) else { break }
      pause(attempts: 1, failure)
      return failure
    case .mayHaveBeenSent, .refused:
      try await reject(entry, failure, &report)
    }
    return nil
  }

  private func pause(attempts: Int, _ reason: RequestError) {
    let now = clock.now
    // Released here, outside the lock.
    _ = state.withLock { state in
      let old = state.pause
      state.pause.begin(attempts: attempts, because: reason, now: now)
      return old
    }
  }

  /// Runs work that may block, on a device, another process or observers, on the outbox's queue.
  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try work() }) }
    }
  }

  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: work()) } }
  }
}
