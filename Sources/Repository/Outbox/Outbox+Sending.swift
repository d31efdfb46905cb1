internal import Foundation
internal import HTTP
internal import Streams

extension Outbox {
  /// How many attempts may have reached the server before an entry is set aside.
  static var attemptLimit: Int { 8 }

  /// Sends what waits, after all who have asked for that before.
  /// - Parameter submitted: Whose submitter is told at the end what has become of it, at the latest.
  @discardableResult
  func takeTurn(patience: Duration? = nil, for submitted: Entry? = nil) -> Task<OutboxReport<Mutation>, Never> {
    state.withLock { state in
      let previous = state.turn
      let turn = Task {
        _ = await previous?.value
        self.state.withLock { $0.comingTurns -= 1 }
        return await self.sendAll(patience ?? self.patience, for: submitted)
      }
      state.turn = turn
      state.comingTurns += 1
      return turn
    }
  }

  /// Sends what waits, unless nothing does or a turn is still to come. One that has begun will not do: whoever asks may
  /// have been told in it that his entry waits.
  func flushSoon() {
    let isDue = state.withLock { $0.comingTurns == 0 && $0.known.values.contains { $0.refusal == nil } }
    if isDue { takeTurn() }
  }

  private func sendAll(_ patience: Duration, for submitted: Entry?) async -> OutboxReport<Mutation> {
    var report = OutboxReport<Mutation>()
    do {
      if try await onQueue({ try self.look() }) != nil {
        let letOthersSend = try await waitToSend(patience)
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
      return try self.folder.names().last
    }
    while let last, let entry = try await onQueue({ try self.look() }), entry.name <= last {
      if isClosed.value { throw OutboxError.closed }
      if let error = try await attempt(entry, &report) {
        report.error = error
        return
      }
    }
  }

  /// Waits until nobody else sends. It asks again and again: who waits for a lock itself cannot be told to stop.
  private func waitToSend(_ patience: Duration) async throws -> @Sendable () -> Void {
    let deadline = ContinuousClock.now + patience
    while true {
      if let letOthersSend = try await onQueue({ try self.folder.trySend() }) { return letOthersSend }
      if isClosed.value { throw OutboxError.closed }
      guard ContinuousClock.now < deadline else {
        throw RequestError(
          .timedOut, "Another process is sending what waits: try again, or end it where it hangs.",
          cause: OutboxError.busy)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Looks at what is on disk, and tells of what other processes have put in or taken out; gives the oldest that waits.
  func look() throws -> Entry? {
    // What was put in before the look, and is not seen, is gone.
    let known = state.withLock { $0.known }
    let names = try folder.names()
    let gone = Set(known.keys).subtracting(names)
    for name in gone { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    var oldest: Entry?
    var unreadable: [UnreadableOutboxEntry] = []
    for name in names where known[name]?.refusal == nil {
      // Another process may have changed what is known: what is sent is what is on disk now.
      if oldest != nil, known[name] != nil { continue }
      // Whoever puts it in has not told of it yet, and takes a turn then.
      if state.withLock({ $0.known[name] == nil && $0.waiters[name.id] != nil }) { continue }
      switch try folder.content(name) {
      case .entry(let entry)?:
        note(entry)
        if oldest == nil, entry.refusal == nil { oldest = entry }
      case .unreadable(let entry)?:
        unreadable.append(entry)
        if let known = known[name] { forget(known, .withdrawn(known)) }
      case nil: continue
      }
    }
    state.withLock { [unreadable] in $0.unreadable = unreadable }
    return oldest
  }

  /// Sends an entry; gives the reason where it has to wait, and with it all others.
  private func attempt(_ entry: Entry, _ report: inout OutboxReport<Mutation>) async throws -> RequestError? {
    var entry = entry
    let isIdempotent = isIdempotent(entry.mutation)
    if !isIdempotent {
      guard entry.attempts == 0 else {
        let error = RequestError(.cancelled, "An attempt was cut off: the server may have carried it out, or not.")
        return try await reject(entry, error, &report)
      }
      // Should the process end before the attempt does, the next one finds that it was made.
      entry = try await change(entry) { $0.attempts = 1 }
    }
    let answer: Answer
    do {
      answer = try await send(entry.mutation, entry.id).take(until: isClosed.asObservable().filter { $0 }).value
    } catch {
      if isClosed.value { throw OutboxError.closed }
      return try await judge(entry, RequestError(wrapping: error), isIdempotent, &report)
    }
    report.sent.append(entry)
    try await onQueue { [entry] in
      let removal = Result { try self.folder.remove(entry.name) }
      let waiter = self.takeWaiter(entry.id)
      self.forget(entry, .sent(entry, answer)) {
        waiter?.onNext(answer)
        waiter?.onCompleted()
      }
      // Where it could not be removed it would be sent again and again.
      try removal.get()
    }
    return nil
  }

  private func judge(
    _ entry: Entry, _ error: RequestError, _ isIdempotent: Bool, _ report: inout OutboxReport<Mutation>
  ) async throws -> RequestError? {
    switch OutboxVerdict(error) {
    case .notSent, .blocked:
      // What looks as if it had been sent would not be sent again: then nobody may be told that it waits.
      if !isIdempotent, (try? await change(entry) { $0.attempts = 0 }) == nil {
        return try await reject(entry, error, &report)
      }
      return error
    case .mayHaveBeenSent where isIdempotent && entry.attempts + 1 < Self.attemptLimit:
      // The number only bounds the attempts: one that is not noted, as on a full disk, is no reason not to wait.
      _ = try? await change(entry) { $0.attempts += 1 }
      return error
    case .mayHaveBeenSent, .refused:
      return try await reject(entry, error, &report)
    }
  }

  /// Tells the one who waits for an entry, which goes; where nobody does, it is set aside.
  private func reject(
    _ entry: Entry, _ error: RequestError, _ report: inout OutboxReport<Mutation>
  ) async throws -> RequestError? {
    if let waiter = takeWaiter(entry.id) {
      try await onQueue { try self.withdraw(entry) { waiter.onError(error) } }
    } else {
      // A server may say more than a file should hold.
      let reason = String("\(error)".unicodeScalars.prefix(8_000))
      let refused = try await change(entry) { $0.refusal = reason }
      report.refused.append(refused)
      await onQueue { self.notices.onNext(.change(.refused(refused, error)) {}) }
    }
    return nil
  }

  /// Tells the one who has submitted an entry what has become of it, unless that is done: it was not its turn, or another
  /// process was at it.
  /// - Parameter hasTurn: Whether nobody else can be sending the entry, so that it may still be taken out.
  private func conclude(_ submitted: Entry?, _ error: (any Error)?, hasTurn: Bool) async {
    guard let entry = submitted, let waiter = takeWaiter(entry.id) else { return }
    await onQueue {
      do {
        if self.isClosed.value { throw OutboxError.closed }
        let left: Entry
        switch Result(catching: { try self.folder.content(entry.name) }) {
        case .success(.entry(let entry)?): left = entry
        case .success(.unreadable(let unreadable)?):
          return self.forget(entry, .withdrawn(entry)) { waiter.onError(OutboxError.unreadable(unreadable)) }
        case .success(nil):
          let error = try self.folder.wasDiscarded(entry.name) ? OutboxError.withdrawn : .sentElsewhere
          return self.forget(entry, .withdrawn(entry)) { waiter.onError(error) }
        // It may still be there, and is sent then.
        case .failure(let error): throw OutboxError.queued(because: RequestError(wrapping: error))
        }
        if let refusal = left.refusal {
          return try self.withdraw(entry) { waiter.onError(OutboxError.refusedElsewhere(refusal)) }
        }
        let reason = RequestError(wrapping: error ?? CancellationError())
        switch OutboxVerdict(reason) {
        case .blocked where hasTurn, .refused where hasTurn:
          try self.withdraw(entry) { waiter.onError(error ?? reason) }
        default: throw OutboxError.queued(because: reason)
        }
      } catch {
        waiter.onError(error)
      }
    }
  }

  /// Takes an entry out, and goes on where that fails: what is told must be told.
  private func withdraw(_ entry: Entry, then completion: @escaping @Sendable () -> Void) throws {
    let removal = Result { try folder.remove(entry.name) }
    forget(entry, .withdrawn(entry), then: completion)
    try removal.get()
  }

  private func change(_ entry: Entry, _ change: @escaping @Sendable (inout Entry) -> Void) async throws -> Entry {
    var changed = entry
    change(&changed)
    try await onQueue { [changed] in try self.folder.update(changed) }
    let old = state.withLock { state in
      state.known[entry.name] == nil ? nil : state.known.updateValue(changed, forKey: entry.name)
    }
    _ = old
    return changed
  }

  /// Notes an entry as it is on disk, and tells of it where it is new here, or waits no more.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.updateValue(entry, forKey: entry.name) }
    let (waited, waits) = (old.map { $0.refusal == nil } ?? false, entry.refusal == nil)
    if waits, !waited { notices.onNext(.change(.added(entry)) {}) }
    if waited, !waits { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Forgets an entry that is no longer on disk, and tells what has become of it.
  func forget(
    _ entry: Entry, _ change: OutboxChange<Mutation, Answer>, then completion: @escaping @Sendable () -> Void = {}
  ) {
    let old = state.withLock { $0.known.removeValue(forKey: entry.name) }
    if old != nil { notices.onNext(.change(change, then: completion)) } else { completion() }
  }

  func takeWaiter(_ id: String) -> AnyObserver<Answer>? {
    state.withLock { $0.waiters.removeValue(forKey: id) }
  }

  /// Does what may wait for a device, or another process, or those who watch, on a thread that may.
  private func onQueue<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try work() }) }
    }
  }

  private func onQueue<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: work()) } }
  }
}
