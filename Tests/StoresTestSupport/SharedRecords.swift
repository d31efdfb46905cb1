package import Stores
package import Streams
import SystemBase

/// A storage of records in memory, as several processes have it.
package struct SharedRecords: Sendable {
  private let server = Server()

  package init() {}

  /// What one process has of it; by the identity, it knows what it has had of it before.
  package func opened(identity: String? = nil) -> Opened { Opened(server: server, identity: identity) }

  /// The entries that there are.
  package var entries: [RecordEntry] { server.entries.withLock { $0.map(\.entry) } }

  /// Whether there is nothing but what says that the account was signed out.
  package var hasSignOutAlone: Bool { entries.map(\.position.number) == [0] && entries[0].bytes.first == 8 }

  /// Calls that are still to fail.
  package func fail(_ count: Int) { server.failures.withLock { $0 = count } }

  /// Sets whether all calls fail; when the storage is back, processes hear of it.
  package func setAway(_ isAway: Bool) {
    server.isAway.withLock { $0 = isAway }
    if !isAway { server.changes.onNext(nil) }
  }

  /// How many calls have failed while it was away.
  package var failedCalls: Int { server.failedCalls.withLock { $0 } }

  /// How often was asked whether the server has refused the account.
  package var refusalReads: Int { server.refusalReads.withLock { $0 } }

  /// What a backup has.
  package struct Backup: Sendable { fileprivate let entries: [Kept] }

  /// A backup of the entries.
  package var backup: Backup { Backup(entries: server.entries.withLock { $0 }) }

  /// Puts a backup in the place of the entries.
  package func restore(_ backup: Backup) {
    server.entries.withLock { $0 = backup.entries }
    server.changes.onNext(nil)
  }

  /// Puts others in the place of the entries.
  package func replace(_ entries: [RecordEntry]) { restore(Backup(entries: entries.map { Kept(entry: $0) })) }

  /// An entry, and what tells it from others that have its position later.
  fileprivate struct Kept: Sendable {
    let entry: RecordEntry
    var tag = UInt64.random(in: .min ... .max)
  }

  fileprivate final class Server: Sendable {
    let entries = Locked<[Kept]>([])
    let isRefused = Locked(false)
    let isAway = Locked(false)
    let failedCalls = Locked(0)
    let refusalReads = Locked(0)
    let failures = Locked(0)
    let changes = PublishSubject<ObjectIdentifier?>()

    func checkPresence() throws {
      guard isAway.withLock({ $0 }) else { return }
      failedCalls.withLock { $0 += 1 }
      throw IsAway()
    }

    func call<Result>(_ body: (inout [Kept]) -> Result) throws -> Result {
      try checkPresence()
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
    private let failingReads = Locked((count: 0, saysItIsBack: false))
    /// The last entry that it has read or written, which may be another one by now.
    private let seen = Locked<Kept?>(nil)

    package let identity: String?

    fileprivate init(server: Server, identity: String?) { (self.server, self.identity) = (server, identity) }

    /// Sets whether it hears nothing of what others do.
    package func setDeaf(_ isDeaf: Bool) { self.isDeaf.withLock { $0 = isDeaf } }

    /// Sets what happens to all that is read, before it is given.
    package func onRead(_ action: @escaping @Sendable (inout RecordTail) -> Void) { onRead.withLock { $0 = action } }

    /// Lets reads fail; after each, the storage says that it is back, if it is to.
    package func failReading(_ count: Int, saysItIsBack: Bool = false) {
      failingReads.withLock { $0 = (count, saysItIsBack) }
    }

    /// How many reads are still to fail.
    package var failingReadCount: Int { failingReads.withLock { $0.count } }

    /// Changes that are still to be made, and fail nevertheless.
    package func loseAnswers(_ count: Int) { lostAnswers.withLock { $0 = count } }

    package func read(after position: RecordPosition?) throws -> RecordTail {
      let (fails, saysItIsBack) = failingReads.withLock { failing in
        defer { failing.count = max(failing.count - 1, 0) }
        return (failing.count > 0, failing.saysItIsBack)
      }
      if fails {
        if saysItIsBack { server.changes.onNext(nil) }
        throw IsAway()
      }
      var tail = try tail(after: position)
      onRead.withLock { $0 }?(&tail)
      return tail
    }

    private func tail(after position: RecordPosition?) throws -> RecordTail {
      try server.call { entries in
        defer { seen.withLock { $0 = entries.last } }
        let known = entries.firstIndex { $0.entry.position == position && !isAnother($0) }
        let isNext = position.map { entries.first?.entry.position == $0.next } == true
        let start = isNext ? 0 : known.map { $0 + 1 } ?? 0
        return RecordTail(last: entries.last?.entry.position, entries: entries[start...].map(\.entry))
      }
    }

    /// Whether an entry has come in the place of one that was lost.
    private func isAnother(_ kept: Kept) -> Bool {
      seen.withLock { $0?.entry.position == kept.entry.position && $0?.tag != kept.tag }
    }

    package func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool {
      try change(after: position) { $0.append(Kept(entry: entry)) }
    }

    package func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool {
      try change(after: position) { $0 = [Kept(entry: entry)] }
    }

    package func removeAll() throws {
      try server.call { $0 = [] }
      server.changes.onNext(ObjectIdentifier(self))
    }

    private func change(after position: RecordPosition?, _ body: (inout [Kept]) -> Void) throws -> Bool {
      let isDone = try server.call { entries in
        guard entries.last?.entry.position == position, entries.last.map(isAnother) != true else { return false }
        body(&entries)
        seen.withLock { $0 = entries.last }
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

    package func signOut(leaving mark: RecordEntry) throws {
      try server.call { $0 = [Kept(entry: mark)] }
      server.changes.onNext(ObjectIdentifier(self))
      try setRefused(false)
    }

    /// Also if it cannot be read.
    package var isRefused: Bool {
      server.refusalReads.withLock { $0 += 1 }
      guard (try? server.checkPresence()) != nil else { return true }
      return server.isRefused.withLock { $0 }
    }

    package func setRefused(_ isRefused: Bool) throws {
      try server.checkPresence()
      server.isRefused.withLock { $0 = isRefused }
    }

    package var changes: Observable<Void> {
      let own = ObjectIdentifier(self)
      return server.changes.asObservable().filter { $0 != own }.compactMap { [isDeaf] _ in
        isDeaf.withLock { $0 } ? nil : ()
      }
    }
  }
}
