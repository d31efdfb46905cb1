internal import Foundation
internal import HTTP
internal import Streams

extension Outbox {
  /// How many attempts may have reached the server before an entry is set aside.
  static var attemptLimit: Int { 8 }

  /// Sends what waits, after all who have asked for that before.
  /// - Parameter submitted: Whose submitter is told at the end what has become of it, at the latest.
  @discardableResult
  func takeTurn(lockTimeout: Duration? = nil, for submitted: Entry? = nil) -> Task<OutboxReport<Mutation>, Never> {
    state.withLock { state in
      let previous = state.turn
      let turn = Task {
        _ = await previous?.value
        self.state.withLock { $0.comingTurns -= 1 }
        return await self.sendAll(lockTimeout ?? self.lockTimeout, for: submitted)
      }
      state.turn = turn
      state.comingTurns += 1
      return turn
    }
  }

  /// Sends what waits, unless nothing does, a turn is still to come, or the server has failed shortly before. A turn that
  /// has begun will not do: whoever asks may have been told in it that his entry waits.
  func flushSoon() {
    let now = clock.now
    let isDue = state.withLock { state in
      state.comingTurns == 0 && state.pause.isOver(now: now) && state.known.values.contains { $0.refusal == nil }
    }
    if isDue { takeTurn() }
  }

  private func sendAll(_ lockTimeout: Duration, for submitted: Entry?) async -> OutboxReport<Mutation> {
    var report = OutboxReport<Mutation>()
    do {
      if try await onQueue({ try self.look() }) != nil {
        let letOthersSend = try await waitToSend(lockTimeout)
        defer { letOthersSend() }
        do { try await sendAll(&report) } catch { report.error = error }
        await conclude(submitted, report.error, hasTurn: true)
      }
    } catch {
      report.error = error
    }
    await conclude(submitted, report.error, hasTurn: false)
    report.unreadable = state.withLock { $0.unreadable }
    return report
  }

  private func sendAll(_ report: inout OutboxReport<Mutation>) async throws {
    // What comes later has a turn of its own, in the process where somebody may wait for it.
    let last = try await onQueue {
      _ = try self.look()
      return try self.names().last
    }
    while let last, let entry = try await onQueue({ try self.look() }), entry.name <= last {
      if isSignedOut.value { throw OutboxError.signedOut }
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
      // Should the process end before the attempt does, the next one finds that it was made.
      guard let noted = try await change(entry, { $0.attempts = 1 }) else { return nil }
      entry = noted
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
      self.state.withLock { $0.pause = OutboxPause() }
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
    switch OutboxVerdict(failure) {
    case .notSent, .blocked:
      if failure.status == 429 { pause(attempts: 0) }
      if isIdempotent { return failure }
      do {
        _ = try await change(entry) { $0.attempts = 0 }
        return failure
      } catch {
        // What looks as if it had been sent would not be sent again: then nobody may be told that it waits.
        try await reject(entry, failure, &report)
      }
    case .mayHaveBeenSent where isIdempotent && entry.attempts + 1 < Self.attemptLimit:
      pause(attempts: entry.attempts + 1)
      // The number only bounds the attempts: one that is not noted, as on a full disk, is no reason not to wait.
      _ = try? await change(entry) { $0.attempts += 1 }
      return failure
    case .mayHaveBeenSent, .refused:
      try await reject(entry, failure, &report)
    }
    return nil
  }

  private func pause(attempts: Int) {
    let now = clock.now
    state.withLock { $0.pause.begin(attempts: attempts, now: now) }
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
