import Streams

/// Knows what waits, and who watches. It takes notices for ever, so that nothing that is to be done after one is lost.
///
/// `@unchecked Sendable`: its variables are touched by notices alone, which come one at a time.
final class OutboxBoard<Mutation: Codable & Sendable, Response: Sendable>: @unchecked Sendable {
  private var waiting: [OutboxEntry<Mutation>] = []
  private var watchers: [(id: UInt64, observer: AnyObserver<OutboxChange<Mutation, Response>>)] = []
  private var isOver = false

  func handle(_ notice: OutboxNotice<Mutation, Response>) {
    switch notice {
    case .change(let change, let completion):
      waiting.removeAll { $0.id == change.entry.id }
      if case .added(let entry) = change, !isOver { waiting.append(entry) }
      for watcher in watchers { watcher.observer.onNext(change) }
      completion()
    case .arrival(_, let observer) where isOver: observer.onCompleted()
    case .arrival(let id, let observer):
      watchers.append((id, observer))
      for entry in waiting { observer.onNext(.added(entry)) }
    case .departure(let id): watchers.removeAll { $0.id == id }
    case .end:
      isOver = true
      for watcher in watchers { watcher.observer.onCompleted() }
      (waiting, watchers) = ([], [])
    }
  }
}
