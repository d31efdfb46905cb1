import HTTP
import Streams

extension Outbox {
  /// Tells the one who waits for an entry, which goes; where nobody does, it is set aside.
  func reject(_ entry: Entry, _ error: RequestError, _ report: inout OutboxReport<Mutation>) async throws {
    if let waiter = takeWaiter(entry.id) {
      let failure = await onQueue { self.end(entry, .withdrawn(entry)) { waiter.onError(error) } }
      report.error = failure ?? report.error
    } else {
      // A server may say more than a file should hold.
      let reason = String("\(error)".unicodeScalars.prefix(8_000))
      guard let refused = try await change(entry, { $0.refusal = reason }) else { return }
      report.refused.append(refused)
      await onQueue { self.notices.onNext(.change(.refused(refused, error)) {}) }
    }
  }

  /// Tells the one who has submitted an entry what has become of it, unless that is done: it was not its turn, or another
  /// process was at it.
  /// - Parameter hasTurn: Whether nobody else can be sending the entry, so that it may still be taken out.
  func conclude(_ submitted: Entry?, _ error: (any Error)?, hasTurn: Bool) async {
    guard let entry = submitted, let waiter = takeWaiter(entry.id) else { return }
    await onQueue {
      do {
        if self.isSignedOut.value { throw OutboxError.signedOut }
        let left: Entry
        switch Result(catching: { try self.folder.content(entry.name) }) {
        case .success(.entry(let entry)?): left = entry
        case .success(.unreadable(let unreadable)?):
          return self.forget(entry, .withdrawn(entry)) { waiter.onError(OutboxError.unreadable(unreadable)) }
        case .success(nil):
          let error = try self.folder.wasDiscarded(entry.name) ? OutboxError.discarded : .sentElsewhere
          return self.forget(entry, .withdrawn(entry)) { waiter.onError(error) }
        // It may still be there, and is sent then.
        case .failure(let error): throw OutboxError.queued(because: RequestError(wrapping: error))
        }
        if let refusal = left.refusal {
          self.end(entry, .withdrawn(entry)) { waiter.onError(OutboxError.refusedElsewhere(refusal)) }
          return
        }
        let reason = RequestError(wrapping: error ?? CancellationError())
        switch OutboxVerdict(reason) {
        case .blocked where hasTurn && self.takeOut(entry), .refused where hasTurn && self.takeOut(entry):
          self.forget(entry, .withdrawn(entry)) { waiter.onError(error ?? reason) }
        default: throw OutboxError.queued(because: reason)
        }
      } catch {
        waiter.onError(error)
      }
    }
  }

  /// Removes an entry that could still be sent; says whether it is gone: only the last step may have failed.
  private func takeOut(_ entry: Entry) -> Bool {
    do {
      try folder.remove(entry.name)
      return true
    } catch {
      return (try? folder.names().contains(entry.name)) == false
    }
  }

  func takeWaiter(_ id: String) -> AnyObserver<Response>? {
    state.withLock { $0.waiters.removeValue(forKey: id) }
  }
}
