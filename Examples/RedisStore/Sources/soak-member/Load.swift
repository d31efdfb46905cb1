import Foundation
import GraphQLClient
import HTTPClientCore
import RedisStore
import Stores
import Streams
import Synchronization

/// The load: workers that read and write, and accounts that come and go.
final class Load: Sendable {
  private struct Presence {
    /// The accounts that are signed in.
    var present = Set(Settings.accounts)
    /// How many operations use an account.
    var uses: [String: Int] = [:]
    var writes = 0
  }

  private let settings: Settings
  private let tally = Tally()
  private let world: World
  private let accounts: AccountGroup<String, Account>
  private let presence = Mutex(Presence())
  /// Writes of different starts of one process have different ids.
  private let start = UUID().uuidString.prefix(8)

  init(_ settings: Settings) {
    self.settings = settings
    let world = World(settings, tally)
    self.world = world
    accounts = AccountGroup { try Account($0, in: world) }
  }

  /// Makes load until its task is cancelled.
  func run() async {
    world.redis.waitUntilConnected()
    say(["ready": true])
    await withTaskGroup { group in
      for _ in 0..<Settings.workers {
        group.addTask {
          while !Task.isCancelled {
            await self.operate()
            try? await Task.sleep(for: self.settings.pause * Double.random(in: 0.5...1.5))
          }
        }
      }
      group.addTask { await self.comeAndGo() }
      group.addTask {
        while !Task.isCancelled {
          try? await Task.sleep(for: .milliseconds(500))
          self.tally.report()
        }
      }
    }
    tally.report()
  }

  /// One operation of an account that is signed in.
  private func operate() async {
    let name = presence.withLock { presence -> String? in
      guard let name = presence.present.randomElement() else { return nil }
      presence.uses[name, default: 0] += 1
      return name
    }
    guard let name, let note = Settings.notes.randomElement() else { return }
    defer { presence.withLock { $0.uses[name, default: 0] -= 1 } }
    guard let account = open(name) else { return }
    switch Int.random(in: 0..<100) {
    case ..<70:
      await read("notes", of: account) { try await account.notes.get(note).value.requireValue() }
    case ..<86:
      await read("records", of: account) { try await account.records.get(GetNote(note)).value.requireValue().note }
    case ..<90:
      await read("fresh notes", of: account) { try await account.notes.fresh(note).value }
    case ..<93:
      await write("notes", note) { write in
        try await account.notes.mutate(.of(note, Account.change(write))) {
          WriteNote(write).data(on: account.client).map(\.write)
        }.value
      }
    case ..<96:
      await write("records", note) { try await account.records.mutate(WriteNote($0)).value.write }
    default:
      await write("outbox", note) { try await account.outbox.submit($0).value }
    }
  }

  private func open(_ name: String) -> Account? {
    do { return try accounts.member(for: name) } catch {
      tally.count("sign-in: \(error)")
      return nil
    }
  }

  private func read(_ what: String, of account: Account, _ body: () async throws -> Note) async {
    let note = await tally.measure("read of \(what)", isWrite: false, body)
    if let note { tally.check(note, of: account.name) }
  }

  /// A write, and what is said of it: that it is done, or that it will be.
  private func write(_ what: String, _ note: String, _ body: (Write) async throws -> Note) async {
    let number = presence.withLock { presence in
      presence.writes += 1
      return presence.writes
    }
    let write = Write(note: note, id: "\(settings.number)-\(start)-\(number)")
    _ = await tally.measure("write by \(what)", isWrite: true) {
      do {
        let note = try await body(write)
        say(["done": write.id])
        return note
      } catch OutboxError.queued(let error) {
        say(["queued": write.id])
        throw OutboxError.queued(because: error)
      } catch is CancellationError {
        // At the end of the load: it may be done, or not.
        throw CancellationError()
      } catch {
        if what == "outbox" { say(["refused": write.id, "because": "\(error)"]) }
        throw error
      }
    }
  }

  /// Signs accounts out, which removes their data from Redis, or closes them, and signs them in again later.
  private func comeAndGo() async {
    while !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(Int.random(in: 1_500...4_000)))
      guard !Task.isCancelled, let name = presence.withLock({ $0.present.randomElement() }) else { continue }
      presence.withLock { _ = $0.present.remove(name) }
      // A write that is submitted during a sign-out would be withdrawn without a word.
      while presence.withLock({ $0.uses[name, default: 0] > 0 }) { try? await Task.sleep(for: .milliseconds(10)) }
      if Int.random(in: 0..<10) < 6 { await accounts.close(name) } else { await signOut(name) }
      try? await Task.sleep(for: .milliseconds(Int.random(in: 100...1_500)))
      presence.withLock { _ = $0.present.insert(name) }
    }
  }

  private func signOut(_ name: String) async {
    guard let account = open(name) else { return }
    do {
      // These are withdrawn.
      for entry in try account.outbox.entries() { say(["dropped": entry.mutation.id]) }
    } catch {
      return tally.count("sign-out: \(error)")
    }
    // Redis may be away.
    for _ in 0..<100 {
      do { return try await accounts.signOut(name) } catch { tally.count("sign-out: \(error)") }
      try? await Task.sleep(for: .milliseconds(100))
    }
    say(["violation": "\(name) could not be signed out"])
  }

  /// Signs all accounts in, and sends what waits in their outboxes, until nothing does.
  func settle() async {
    await withTaskGroup { group in
      for name in Settings.accounts {
        group.addTask {
          guard let account = self.open(name) else { return }
          for _ in 0..<100 {
            let report = await account.outbox.flush(evenDuringPause: true)
            if report.error == nil, (try? account.outbox.entries().isEmpty) == true { return }
            try? await Task.sleep(for: .milliseconds(100))
          }
          say(["violation": "the outbox of \(name) cannot be emptied"])
        }
      }
    }
  }

  /// What readers and watchers of each account get: the last write of each note, or why it cannot be read. One account is
  /// read after the other, since a request that waits behind all the others may not be answered in its time.
  func show() async -> [String: String] {
    var shown: [String: String] = [:]
    for name in Settings.accounts {
      guard let account = open(name) else { continue }
      let read = await withTaskGroup(of: [(String, String)].self) { group in
        for note in Settings.notes {
          group.addTask {
            let read = await self.last(of: name) { try await account.notes.get(note).value.requireValue() }
            let record = await self.last(of: name) {
              try await account.records.get(GetNote(note)).value.requireValue().note
            }
            return [("\(name)/\(note) read", read), ("\(name)/\(note) record", record)]
          }
        }
        return await group.reduce(into: [:]) { $0.merge($1) { $1 } }
      }
      shown.merge(read) { $1 }
      for (what, note) in account.shown { shown["\(name)/\(note.id) \(what) by a watcher"] = note.last }
    }
    return shown
  }

  private func last(of account: String, _ body: () async throws -> Note) async -> String {
    let shown = await tally.measure("read in the end", isWrite: false) {
      do {
        let note = try await body()
        tally.check(note, of: account)
        return note.last
      } catch {
        return "\(error)"
      }
    }
    return shown ?? ""
  }

  /// Closes all accounts, whose data stay.
  func close() async { await accounts.close() }
}
