import HTTP
import Streams

extension Outbox {
  /// Tells the one who waits for an entry why it is not sent, and the entry goes; false where nobody does.
  @discardableResult
  func dismiss(_ entry: Entry, _ error: any Error, _ report: inout OutboxReport<Mutation>) async -> Bool {
    guard let waiter = takeWaiter(entry.id) else { return false }
    let failure = await onQueue { self.end(entry, .withdrawn(entry)) { waiter.onError(error) } }
    report.error = failure ?? report.error
    return true
  }

  /// Tells the one who waits for an entry, which goes; where nobody does, it is set aside.
  func reject(_ entry: Entry, _ error: RequestError, _ report: inout OutboxReport<Mutation>) async throws {
    if await dismiss(entry, error, &report) { return }
    // A server may say more than a file should hold.
    let reason = String("\(error)".unicodeScalars.prefix(8_000))
    guard let refused = try await change(entry, { $0.refusal = reason }) else { return }
    report.refused.append(refused)
    await onQueue { self.tellRefusal(of: refused, error) }
  }

  /// Tells those who watch that an entry was set aside. It may have been asked for again by now, and they have heard of that
  /// first.
  func tellRefusal(of refused: Entry, _ error: RequestError) {
    notices.onNext(.change(.refused(refused, error)) {})
    if let entry = state.withLock({ $0.known[refused.name] }), entry.isWaiting {
      notices.onNext(.change(.added(entry)) {})
    }
  }

  /// Tells the one who has submitted an entry what has become of it, unless that is done: it was not its turn, or another
  /// process was at it.
  func conclude(_ entry: Entry, _ error: (any Error)?) async {
    guard let waiter = takeWaiter(entry.id) else { return }
    await onQueue {
      do {
        if self.isSignedOut.value { throw OutboxError.signedOut }
        switch Result(catching: { try self.folder.content(entry.name) }) {
        case .success(.entry(let left)?):
          guard let refusal = left.refusal else {
            throw OutboxError.queued(because: RequestError(wrapping: error ?? CancellationError()))
          }
          self.end(entry, .withdrawn(entry)) { waiter.onError(OutboxError.refusedElsewhere(refusal)) }
        case .success(.unreadable(let unreadable)?):
          self.forget(entry, .withdrawn(entry)) { waiter.onError(OutboxError.unreadable(unreadable)) }
        case .success(nil):
          let error = try self.folder.wasDiscarded(entry.name) ? OutboxError.discarded : .sentElsewhere
          self.forget(entry, .withdrawn(entry)) { waiter.onError(error) }
        // It may still be there, and is sent then.
        case .failure(let error): throw OutboxError.queued(because: RequestError(wrapping: error))
        }
      } catch {
        waiter.onError(error)
      }
    }
  }

  func takeWaiter(_ id: String) -> AnyObserver<Response>? {
    state.withLock { $0.waiters.removeValue(forKey: id) }
  }
}
