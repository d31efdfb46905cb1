import Streams

/// Keeps the waiting entries and the observers. It handles notices even after the end, so that their completions always
/// run.
///
/// `@unchecked Sendable`: its variables are accessed only while handling notices, which come one at a time.
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
