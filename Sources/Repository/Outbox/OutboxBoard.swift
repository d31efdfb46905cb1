import HTTP
import Streams

extension Outbox {
  /// If a submitter waits for an entry, gives it the reason why the entry is not sent, and removes the entry. Returns
  /// whether one does.
  @discardableResult
  func dismiss(_ entry: Entry, _ error: any Error, _ report: inout OutboxReport<Mutation>) async throws -> Bool {
    guard let waiter = takeWaiter(entry.id) else { return false }
    do {
      let failure = try await onQueue { try self.end(entry, .withdrawn(entry)) { waiter.onError(error) } }
      report.error = failure ?? report.error
      return true
    } catch {
      waiter.onError(error)
      throw error
    }
  }

  /// Tells the entry's submitter of the error and removes the entry; if no submitter waits, sets the entry aside.
  func reject(_ entry: Entry, _ error: RequestError, _ report: inout OutboxReport<Mutation>) async throws {
    if try await dismiss(entry, error, &report) { return }
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
        if self.isSignedOut.value || self.folder.isSignedOut { throw OutboxError.signedOut }
        switch Result(catching: { try self.folder.content(entry.name) }) {
        case .success(.entry(let left)?):
          guard let refusal = left.refusal else {
            throw OutboxError.queued(because: RequestError(wrapping: error ?? CancellationError()))
          }
          try self.end(entry, .withdrawn(entry)) { waiter.onError(OutboxError.refusedElsewhere(refusal)) }
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

/// Keeps the waiting entries and the watchers. It handles notices even after the end, so that their completions always
/// run.
///
/// `@unchecked Sendable`: its variables are accessed only in `handle`, which `Outbox.notices` alone calls; an
/// `AnyObserver` delivers one element at a time, on whichever thread, each after the one before.
final class OutboxBoard<Mutation: Codable & Sendable, Response: Sendable>: @unchecked Sendable {
  private var waiting: [OutboxFileName: OutboxEntry<Mutation>] = [:]
  private var watchers: [OutboxWatcher<Mutation, Response>] = []
  /// The response that stores are writing: those that have not finished, and what follows when all have.
  private var writing: (name: OutboxFileName, stores: Set<UInt64>, completion: @Sendable () -> Void)?
  private var isOver = false

  func handle(_ notice: OutboxNotice<Mutation, Response>) {
    switch notice {
    case .change(let change, let completion):
      note(change)
      // Stores have the response.
      let isSent = if case .sent = change { true } else { false }
      for watcher in watchers where !(isSent && watcher.isStore) { watcher.onChange(change) {} }
      completion()
    case .response(let entry, let response, let didWrite, let completion):
      write(entry, response, didWrite, then: completion)
    case .written(let name, let store): if writing?.name == name { endWriting(store) }
    case .arrival(let watcher) where isOver: watcher.onCompleted()
    case .arrival(let watcher):
      watchers.append(watcher)
      for (_, entry) in waiting.sorted(by: { $0.key < $1.key }) { watcher.onChange(.added(entry)) {} }
    case .departure(let id):
      watchers.removeAll { $0.id == id }
      endWriting(id)
    case .end:
      isOver = true
      for watcher in watchers { watcher.onCompleted() }
      (waiting, watchers) = ([:], [])
      exchange(&writing, with: nil)?.completion()
    }
  }

  private func note(_ change: OutboxChange<Mutation, Response>) {
    if case .added(let entry) = change, !isOver {
      waiting[entry.name] = entry
    } else {
      waiting[change.entry.name] = nil
    }
  }

  private func write(
    _ entry: OutboxEntry<Mutation>, _ response: Response, _ didWrite: @escaping @Sendable (_ store: UInt64) -> Void,
    then completion: @escaping @Sendable () -> Void
  ) {
    // A store that comes later reads values that have the change.
    waiting[entry.name] = nil
    let stores = watchers.filter(\.isStore)
    if stores.isEmpty { return completion() }
    writing = (entry.name, Set(stores.map(\.id)), completion)
    for store in stores { store.onChange(.sent(entry, response)) { didWrite(store.id) } }
  }

  private func endWriting(_ store: UInt64) {
    guard writing?.stores.remove(store) != nil, writing?.stores.isEmpty == true else { return }
    exchange(&writing, with: nil)?.completion()
  }
}

/// What is notified of an outbox's changes.
struct OutboxWatcher<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  let id: UInt64
  /// Whether it makes responses a part of its values, and calls `done` when that is on disk.
  let isStore: Bool
  let onChange: @Sendable (OutboxChange<Mutation, Response>, _ done: @escaping @Sendable () -> Void) -> Void
  let onCompleted: @Sendable () -> Void
}

/// What an outbox sends to its watchers, one notice at a time, in the same order for all.
enum OutboxNotice<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// A change, and what to do once all watchers have it.
  case change(OutboxChange<Mutation, Response>, then: @Sendable () -> Void)
  /// A response for the stores, and what to do once all of them have written it, or are no longer watching.
  case response(
    OutboxEntry<Mutation>, Response, didWrite: @Sendable (_ store: UInt64) -> Void, then: @Sendable () -> Void)
  /// A store has written the response for the entry of this name.
  case written(OutboxFileName, store: UInt64)
  case arrival(OutboxWatcher<Mutation, Response>)
  case departure(UInt64)
  /// The account is signed out, or the outbox is closed or released: watchers complete, but later completions still run.
  case end
}
