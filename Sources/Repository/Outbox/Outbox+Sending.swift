internal import Foundation
internal import HTTP
internal import Streams

extension Outbox {
  /// How many attempts may have reached the server before an entry is set aside.
  static var attemptLimit: Int { 8 }

  /// Sends what waits, after all turns that were asked for before.
  func takeTurn(lockTimeout: Duration? = nil) -> Task<OutboxReport<Mutation>, Never> {
    state.withLock { addTurn(to: &$0) { await self.runTurn(lockTimeout ?? self.lockTimeout) } }
  }

  /// The same, unless the server has failed shortly before: one turn for all who ask before it begins. One that has begun
  /// will not do: whoever asks may have been told in it that his entry waits.
  /// - Parameter submitted: Whose submitter is told at the turn's end what has become of it, at the latest.
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

  @discardableResult
  private func addTurn(
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
    // Whoever submits may have mended what has blocked the others, by signing in, say.
    if let reason, submitted.isEmpty || OutboxVerdict(reason) != .blocked {
      report.error = reason
    } else {
      report = await runTurn(lockTimeout)
    }
    for entry in submitted { await conclude(entry, report.error) }
    return report
  }

  private func runTurn(_ lockTimeout: Duration) async -> OutboxReport<Mutation> {
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
    // What comes later has a turn of its own, in the process where somebody may wait for it.
    for name in try await onQueue({ try self.look() }) {
      if isSignedOut.value { throw OutboxError.signedOut }
      guard let entry = try await onQueue({ try self.reread(name) }) else { continue }
      if let error = try await attempt(entry, &report) {
        report.error = error
        return
      }
    }
  }

  /// Waits until nobody else sends. It asks again and again: who waits for a lock itself cannot be told to stop.
  private func waitToSend(_ lockTimeout: Duration) async throws -> @Sendable () -> Void {
    let deadline = ContinuousClock.now + lockTimeout
    while true {
      if let letOthersSend = try await onQueue({ try self.folder.trySend() }) { return letOthersSend }
      if isSignedOut.value { throw OutboxError.signedOut }
      guard ContinuousClock.now < deadline else {
        throw RequestError(
          .timedOut, "Another process is sending what waits: try again, or end it where it hangs.",
          cause: OutboxError.busy)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Sends an entry; gives the reason where it has to wait, and with it all others.
  private func attempt(_ entry: Entry, _ report: inout OutboxReport<Mutation>) async throws -> RequestError? {
    var entry = entry
    let isIdempotent = isIdempotent(entry.mutation)
    if !isIdempotent {
      guard entry.attempts == 0 else {
        let error = RequestError(.cancelled, "An attempt was cut off: the server may have carried it out, or not.")
        try await reject(entry, error, &report)
        return nil
      }
      do {
        // Should the process end before the attempt does, the next one finds that it was made.
        guard let noted = try await change(entry, { $0.attempts = 1 }) else { return nil }
        entry = noted
      } catch {
        // It may look as if it had been sent, and is not sent then: nobody may be told that it waits.
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
    let verdict = OutboxVerdict(failure)
    switch verdict {
    case .notSent, .blocked:
      if verdict == .blocked || failure.status == 429 { pause(attempts: 0, failure) }
      if isIdempotent { return failure }
      do {
        _ = try await change(entry) { $0.attempts = 0 }
        return failure
      } catch {
        // What looks as if it had been sent would not be sent again: then nobody may be told that it waits.
        try await reject(entry, failure, &report)
      }
    case .mayHaveBeenSent where isIdempotent && entry.attempts + 1 < Self.attemptLimit:
      pause(attempts: entry.attempts + 1, failure)
      // The number only bounds the attempts: one that is not noted, as on a full disk, is no reason not to wait.
      _ = try? await change(entry) { $0.attempts += 1 }
      return failure
    case .mayHaveBeenSent where !isIdempotent:
      try await reject(entry, failure, &report)
      // Else a server that is down would have all of them set aside, one after the other.
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

  /// Does what may wait for a device, or another process, or those who watch, on a thread that may.
  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try work() }) }
    }
  }

  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: work()) } }
  }
}
