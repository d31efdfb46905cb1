import HTTPClientCore
import Streams
import SystemBase

/// What becomes of an entry that is not sent, for its submitter and for watchers. All of them are called by the
/// publisher, since they may stall.
extension Outbox {
  /// If a submitter waits for an entry, gives it the reason why the entry is not sent, and removes the entry. Returns
  /// whether one does.
  @discardableResult
  func dismiss(_ entry: Entry, _ error: any Error, _ report: inout OutboxReport<Mutation>) async throws -> Bool {
    guard let waiter = takeWaiter(entry.id) else { return false }
    do {
      let failure = try await onQueue { try self.end(entry, .withdrawn(entry), forStores: .refused(entry, error)) }
      report.error = failure ?? report.error
      fail(waiter, error)
      return true
    } catch {
      fail(waiter, error)
      throw error
    }
  }

  /// Gives the entry's submitter the error and removes the entry; if no submitter waits, sets the entry aside.
  func reject(_ entry: Entry, _ error: RequestError, _ report: inout OutboxReport<Mutation>) async throws {
    if try await dismiss(entry, error, &report) { return }
    // A server's message may be longer than a file should hold.
    let reason = String("\(error)".unicodeScalars.prefix(8_000))
    guard let refused = try await change(entry.name, { $0.refusal = reason }) else { return }
    report.refused.append(refused)
    reportRefusal(of: refused, error)
  }

  /// Notifies observers that an entry was set aside. It may have been retried by now, and they may have heard of that
  /// first.
  func reportRefusal(of refused: Entry, _ error: RequestError) {
    publisher.report(.refused(refused, error))
    if let entry = state.withLock({ $0.known[refused.name] }), entry.isWaiting { publisher.report(.added(entry)) }
  }

  /// Gives the submitter of an entry what became of it, unless that is done: its turn did not come, or another process
  /// handled it.
  func conclude(_ entry: Entry, _ error: (any Error)?) async {
    guard let waiter = takeWaiter(entry.id) else { return }
    let outcome = await onQueue { () -> any Error in
      do { return try self.outcome(of: entry, error) } catch { return error }
    }
    fail(waiter, outcome)
  }

  /// Why an entry was not sent here. Ends it, unless it still waits.
  private func outcome(of entry: Entry, _ error: (any Error)?) throws -> OutboxError {
    if isSignedOut.value || folder.isSignedOut { return .signedOut }
    switch Result(catching: { try folder.content(entry.name) }) {
    case .success(.entry(let left)?):
      guard let refusal = left.refusal else {
        return .queued(because: RequestError(wrapping: error ?? CancellationError()))
      }
      try end(entry, .withdrawn(entry))
      return .refusedElsewhere(refusal)
    case .success(.unreadable(let unreadable)?):
      forget(entry, .withdrawn(entry))
      return .unreadable(unreadable)
    case .success(nil):
      let wasDiscarded = try folder.wasDiscarded(entry.name)
      forget(entry, .withdrawn(entry))
      return wasDiscarded ? .discarded : .sentElsewhere
    // It may still be there, and then it is sent later.
    case .failure(let error): return .queued(because: RequestError(wrapping: error))
    }
  }

  func takeWaiter(_ id: String) -> AnyObserver<Response>? {
    state.withLock { $0.waiters.removeValue(forKey: id) }
  }

  /// Ends the stream of a submitter, if there is one, with an error.
  func fail(_ waiter: AnyObserver<Response>?, _ error: any Error) {
    if let waiter { publisher.answer { waiter.onError(error) } }
  }
}
