import HTTP
import Streams

extension Outbox {
  /// If a submitter waits for an entry, gives it the reason why the entry is not sent, and removes the entry. Returns
  /// whether one does.
  @discardableResult
  func dismiss(_ entry: Entry, _ error: any Error, _ report: inout OutboxReport<Mutation>) async -> Bool {
    guard let waiter = takeWaiter(entry.id) else { return false }
    let failure = await onQueue { self.end(entry, .withdrawn(entry)) { waiter.onError(error) } }
    report.error = failure ?? report.error
    return true
  }

  /// Tells the entry's submitter of the error and removes the entry; if no submitter waits, sets the entry aside.
  func reject(_ entry: Entry, _ error: RequestError, _ report: inout OutboxReport<Mutation>) async throws {
    if await dismiss(entry, error, &report) { return }
    // A server's message may be longer than a file should hold.
    let reason = String("\(error)".unicodeScalars.prefix(8_000))
    guard let refused = try await change(entry.name, { $0.refusal = reason }) else { return }
    report.refused.append(refused)
    await onQueue { self.tellRefusal(of: refused, error) }
  }

  /// Notifies observers that an entry was set aside. It may have been retried by now, and they may have heard of that
  /// first.
  func tellRefusal(of refused: Entry, _ error: RequestError) {
    notices.onNext(.change(.refused(refused, error)) {})
    if let entry = state.withLock({ $0.known[refused.name] }), entry.isWaiting {
      notices.onNext(.change(.added(entry)) {})
    }
  }

  /// Tells the submitter of an entry what became of it, unless that is done: its turn did not come, or another process
  /// handled it.
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
        // It may still be there, and then it is sent later.
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

/// Keeps the waiting entries and the observers. It handles notices even after the end, so that their completions always
/// run.
///
/// `@unchecked Sendable`: its variables are accessed only in `handle`, which `Outbox.notices` alone calls; an
/// `AnyObserver` delivers one element at a time, on whichever thread, each after the one before.
final class OutboxBoard<Mutation: Codable & Sendable, Response: Sendable>: @unchecked Sendable {
  private var waiting: [OutboxFileName: OutboxEntry<Mutation>] = [:]
  private var watchers: [(id: UInt64, observer: AnyObserver<OutboxChange<Mutation, Response>>)] = []
  private var isOver = false

  func handle(_ notice: OutboxNotice<Mutation, Response>) {
    switch notice {
    case .change(let change, let completion):
      if case .added(let entry) = change, !isOver {
        waiting[entry.name] = entry
      } else {
        waiting[change.entry.name] = nil
      }
      for watcher in watchers { watcher.observer.onNext(change) }
      completion()
    case .arrival(_, let observer) where isOver: observer.onCompleted()
    case .arrival(let id, let observer):
      watchers.append((id, observer))
      for (_, entry) in waiting.sorted(by: { $0.key < $1.key }) { observer.onNext(.added(entry)) }
    case .departure(let id): watchers.removeAll { $0.id == id }
    case .end:
      isOver = true
      for watcher in watchers { watcher.observer.onCompleted() }
      (waiting, watchers) = ([:], [])
    }
  }
}

/// What an outbox sends to its observers, one notice at a time, in the same order for all.
enum OutboxNotice<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// A change, and what to do once all observers have it.
  case change(OutboxChange<Mutation, Response>, then: @Sendable () -> Void)
  case arrival(UInt64, AnyObserver<OutboxChange<Mutation, Response>>)
  case departure(UInt64)
  /// The account is signed out, or the outbox is released: observers complete, but later completions still run.
  case end
}
