package import Stores
package import Streams
import SystemBase

/// A storage of records in memory, as several processes have it.
package struct SharedRecords: Sendable {
  private let server = Server()

  package init() {}

  /// What one process has of it.
  package func opened() -> Opened { Opened(server: server) }

  /// The entries that there are.
  package var entries: [RecordEntry] { server.entries.withLock { $0 } }

  /// Calls that are still to fail.
  package func fail(_ count: Int) { server.failures.withLock { $0 = count } }

  fileprivate final class Server: Sendable {
    let entries = Locked<[RecordEntry]>([])
    let failures = Locked(0)
    let changes = PublishSubject<ObjectIdentifier>()

    func call<Result>(_ body: (inout [RecordEntry]) -> Result) throws -> Result {
      try failures.withLock { failures in
        if failures > 0 {
          failures -= 1
          throw IsAway()
        }
      }
      return entries.withLockUnchecked { body(&$0) }
    }
  }

  package struct IsAway: Error {
    package init() {}
  }

  package final class Opened: RecordStorage {
    private let server: Server
    private let isDeaf = Locked(false)
    private let onRead = Locked<(@Sendable (inout RecordTail) -> Void)?>(nil)
    private let lostAnswers = Locked(0)

    fileprivate init(server: Server) { self.server = server }

    /// Sets whether it hears nothing of what others do.
    package func setDeaf(_ isDeaf: Bool) { self.isDeaf.withLock { $0 = isDeaf } }

    /// Sets what happens to all that is read, before it is given.
    package func onRead(_ action: @escaping @Sendable (inout RecordTail) -> Void) { onRead.withLock { $0 = action } }

    /// Changes that are still to be made, and fail nevertheless.
    package func loseAnswers(_ count: Int) { lostAnswers.withLock { $0 = count } }

    package func read(after position: RecordPosition?) throws -> RecordTail {
      var tail = try tail(after: position)
      onRead.withLock { $0 }?(&tail)
      return tail
    }

    private func tail(after position: RecordPosition?) throws -> RecordTail {
      try server.call { entries in
        let known = entries.firstIndex { $0.position == position }
        let isNext = position.map { entries.first?.position == $0.next } == true
        let start = isNext ? 0 : known.map { $0 + 1 } ?? 0
        return RecordTail(last: entries.last?.position, entries: Array(entries[start...]))
      }
    }

    package func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool {
      try change(after: position) { $0.append(entry) }
    }

    package func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool {
      try change(after: position) { $0 = [entry] }
    }

    package func removeAll() throws {
      try server.call { $0 = [] }
      server.changes.onNext(ObjectIdentifier(self))
    }

    private func change(after position: RecordPosition?, _ body: (inout [RecordEntry]) -> Void) throws -> Bool {
      let isDone = try server.call { entries in
        guard entries.last?.position == position else { return false }
        body(&entries)
        return true
      }
      if isDone { server.changes.onNext(ObjectIdentifier(self)) }
      try lostAnswers.withLock { count in
        if count > 0 {
          count -= 1
          throw IsAway()
        }
      }
      return isDone
    }

    package var changes: Observable<Void> {
      let own = ObjectIdentifier(self)
      return server.changes.asObservable().filter { $0 != own }.compactMap { [isDeaf] _ in
        isDeaf.withLock { $0 } ? nil : ()
      }
    }
  }
}
