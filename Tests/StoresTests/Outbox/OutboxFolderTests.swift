import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@testable import Stores

@Suite struct OutboxFolderTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  init() { server.set(.isAway) }

  private var entryFiles: [String] { folder.files.filter { $0.hasSuffix(".e1") } }

  @Test func `D1: an entry is written to another file, synced, renamed, and its name synced`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    files.fail(call: nil)
    let entries = try OutboxFolder<String>(folder.url, partition: "account", fileSystem: files)
    files.fail(call: nil)
    _ = try entries.append("a", id: "id", now: .now())
    let calls = files.names.filter { ["write", "sync", "rename"].contains($0) }
    #expect(calls == ["write", "sync", "rename", "sync"])
    #expect(try outbox.contents() == ["a"])
  }

  @Test func `an entry's file has the one name that the entry gives it`() {
    let name = OutboxFileName(addedAt: StoreTime(microseconds: 5), id: "id")
    #expect(OutboxFileName("00000000000000000005-id.e1") == name)
    for other in ["+0000000000000000005-id.e1", "-0000000000000000005-id.e1", "0000000000000000005-id.e1"] {
      #expect(OutboxFileName(other) == nil)
    }
  }

  @Test func `D1: a removed entry is gone from the device, too`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    for mutation in ["a", "b", "c"] { _ = await outbox.outcome(mutation) }
    server.set(.fails(RequestError(.graphQL, "No.")))
    _ = await outbox.flush()
    let steps: [() async throws -> Void] = [
      { try outbox.discard(try #require(try outbox.entries().first)) },
      {
        try OutboxFolder<String>(folder.url, partition: "account", fileSystem: files).remove(outbox.entries()[0].name)
      },
      { try await outbox.signOut() },
    ]
    for step in steps {
      files.fail(call: nil)
      try await step()
      #expect(files.names.contains("remove"))
      #expect(files.unsyncedRemovals == [])
    }
  }

  @Test func `D8: a sign-out is over when its entries are gone from the device, and not before`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    _ = await outbox.outcome("a")
    await outbox.lastTurn()
    files.fail(call: nil)
    try await outbox.signOut()
    let calls = files.names.filter { ["remove", "sync", "rename"].contains($0) }
    #expect(calls.suffix(4) == ["remove", "sync", "rename", "sync"])
  }

  @Test func `an entry that is larger than can be read is not written, and one that is written can always be read`()
    throws
  {
    let files = try OutboxFolder<String>(
      folder.url, partition: "", fileSystem: SystemFileSystem(), entryLimit: 1_000)
    var kept: OutboxEntry<String>?
    for length in 0..<1_000 {
      do {
        kept = try files.append(String(repeating: "x", count: length), id: UUID().uuidString, now: .now())
      } catch OutboxError.tooLarge(let size, let limit) {
        #expect(size == 1_001)
        #expect(limit == 1_000)
        break
      }
    }
    var greatest = try #require(kept)
    #expect((500..<999).contains(greatest.mutation.count))
    #expect(entryFiles.count == greatest.mutation.count + 1)
    greatest.refusal = String(String.UnicodeScalarView(repeating: "\u{1}", count: 8_000))
    try files.replace(greatest)
    #expect(try files.read(greatest.name)?.refusal == greatest.refusal)
  }

  @Test func `a mutation of more than 16 MiB is reported as too large`() async throws {
    let outbox = try folder.outbox(server)
    let outcome = await outbox.outcome(String(repeating: "x", count: 16 << 20))
    #expect(outcome.hasPrefix("The change takes 16777"))
    #expect(outcome.hasSuffix("more than the 16777216 that are kept."))
    #expect(entryFiles == [])
  }

  @Test func `a discarded entry is remembered for an hour`() throws {
    let open = { [folder] (uptime: Duration) in
      try OutboxFolder<Int>(folder.url, partition: "", fileSystem: SystemFileSystem(), uptime: uptime)
    }
    let files = try open(.zero)
    // However old they are by the wall clock.
    let times = [StoreTime(microseconds: 0), .now(), .now() + .seconds(86_400 * 365)]
    let names = try times.map { try files.append(1, id: UUID().uuidString, now: $0).name }
    for (name, seconds) in zip(names, [100, 200, 3_750]) { try files.discard(name, uptime: .seconds(seconds)) }
    #expect(try names.map(files.wasDiscarded) == [false, true, true])
    #expect(try names.map(try open(.seconds(3_810)).wasDiscarded) == [false, false, true])
    // The machine has started again.
    #expect(try names.map(try open(.seconds(100)).wasDiscarded) == [false, false, true])
    #expect(try names.map(try open(.seconds(3_600)).wasDiscarded) == [false, false, false])
  }

  @Test func `a discarded entry is remembered although the device was full`() throws {
    let system = FaultyFileSystem()
    let files = try OutboxFolder<Int>(folder.url, partition: "", fileSystem: system)
    let name = try files.append(1, id: "id", now: .now()).name
    system.fail("write", number: 0, .noSpace)
    try files.discard(name)
    #expect(try files.wasDiscarded(name))
    #expect(!folder.files.contains { $0.hasSuffix(".e1") })
  }

  @Test func `a discarded entry is remembered for an hour of the outbox's clock`() throws {
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    _ = try outbox.folder.append("a", id: "id", now: outbox.clock.now)
    try outbox.discard(id: "id")
    for (time, count) in [(0, 1), (3_601, 0)] {
      scheduler.advance(by: .seconds(time))
      _ = try folder.outbox(server, clock: .scheduler(scheduler))
      #expect(folder.files.filter { $0.hasSuffix(".discarded") }.count == count)
    }
  }

  @Test func `a discarded entry is forgotten while the outbox is open, too`() throws {
    let files = try OutboxFolder<Int>(folder.url, partition: "", fileSystem: SystemFileSystem())
    for hours in [1, 3] {
      let uptime = ConcurrentScheduler().now + .seconds(hours * 3_600)
      try files.discard(try files.append(1, id: "\(hours)", now: .now()).name, uptime: uptime)
    }
    #expect(folder.files.filter { $0.hasSuffix(".discarded") }.count == 1)
  }

  @Test(arguments: [true, false])
  func `a folder is listed as often for one entry as for a hundred`(isIdempotent: Bool) async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, isIdempotent: isIdempotent, fileSystem: files)
    let entries = try folder.outboxFolder()
    server.set(.answers)
    var counts: [Int] = []
    for count in [1, 100] {
      for number in 0..<count { _ = try entries.append("\(number)", id: UUID().uuidString, now: .now()) }
      files.fail(call: nil)
      #expect(await outbox.flush().sent.count == count)
      counts.append(files.names.filter { $0 == "names" }.count)
    }
    #expect(counts[0] == counts[1])
  }

  @Test func `D3: whichever file call fails, what was said to be kept is kept, and sent under one key`() async throws {
    for fault in FaultyFileSystem.Fault.allCases {
      for isLasting in [false, true] {
        var call = 0
        while true {
          let (folder, server, files) = (TemporaryFolder(), OutboxServer(), FaultyFileSystem())
          let outbox = try folder.outbox(server, fileSystem: files)
          server.set(.isAway)
          files.fail(call: call, fault, isLasting: isLasting)
          let first = await outbox.outcome("a")
          let second = await outbox.outcome("b")
          server.set(.answers)
          await outbox.flush()
          let wasFaulty = files.calls > call
          files.fail(call: nil)
          let reopened = try folder.outbox(server, fileSystem: files)
          await reopened.flush()
          if first.hasPrefix("queued") { #expect(server.received.contains("a"), "\(fault) \(call)") }
          if second.hasPrefix("queued") || second == "did b" {
            #expect(server.received.contains("b"), "\(fault) \(call)")
          }
          // A file that cannot be removed is sent again, under its own key.
          #expect(Set(server.keys).count == Set(server.received).count, "\(fault) \(call)")
          #expect(try reopened.contents() == [], "\(fault) \(call)")
          #expect(folder.files.filter { $0.contains("temporary") } == [], "\(fault) \(call)")
          if !wasFaulty { break }
          call += 1
        }
        #expect(call > 20)
      }
    }
  }

  @Test func `S1: signing out leaves nothing of the partition, whatever its files are called`() async throws {
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    let file = folder.path(try #require(entryFiles.first))
    try FileManager.default.copyItem(atPath: file, toPath: file.replacing(".e1", with: ".e2"))
    try await outbox.signOut()
    #expect(folder.files.map { $0.split(separator: "/").last } == ["generation", "lock", "sending"])
  }

  @Test func `D5: files and folders are the owner's alone, whatever the partition is called`() async throws {
    let old = umask(0)
    defer { umask(old) }
    for partition in ["../../etc", "a\0b", String(repeating: "x", count: 300), "", "/"] {
      let outbox = try folder.outbox(server, partition: partition)
      _ = await outbox.outcome("a")
      #expect(try outbox.contents() == ["a"])
    }
    #expect(entryFiles.count == 5)
    for path in folder.files {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(path))
      #expect((attributes[.posixPermissions] as? Int) == 0o600, "\(path)")
      let parent = (folder.path(path) as NSString).deletingLastPathComponent
      #expect((try FileManager.default.attributesOfItem(atPath: parent)[.posixPermissions] as? Int) == 0o700)
    }
  }

  @Test func `entries keep their order when the clock is set back`() throws {
    let files = try OutboxFolder<Int>(folder.url, partition: "", fileSystem: SystemFileSystem())
    for (place, time) in [5, 5, 3, 9, 1 as Int64].enumerated() {
      _ = try files.append(place, id: "\(9 - place)", now: StoreTime(microseconds: time))
    }
    #expect(try files.names().compactMap { try files.read($0)?.mutation } == [0, 1, 2, 3, 4])
  }

  @Test func `D7: entries from many threads and objects are all kept, each once`() throws {
    let folder = folder
    // On a slow device, all of them together take longer than one waits for another that is stopped.
    let fileSystem = SystemFileSystem(lockTimeout: .seconds(60))
    let (accepted, errors) = (Locked<Set<Int>>([]), Locked<[String]>([]))
    try race(8) { thread in
      do {
        let files = try OutboxFolder<Int>(folder.url, partition: "", fileSystem: fileSystem)
        for number in 0..<20 {
          let mutation = thread * 100 + number
          _ = try files.append(mutation, id: UUID().uuidString, now: .now())
          accepted.withLock { _ = $0.insert(mutation) }
        }
      } catch { errors.withLock { $0.append("\(error)") } }
    }
    #expect(errors.withLock { $0 } == [])
    let files = try OutboxFolder<Int>(folder.url, partition: "", fileSystem: fileSystem)
    let mutations = try files.names().compactMap { try files.read($0)?.mutation }
    #expect(Set(mutations) == accepted.withLock { $0 })
    #expect(mutations.count == 160)
    #expect(Set(mutations).count == 160)
    for thread in 0..<8 {
      let own = mutations.filter { $0 / 100 == thread }
      #expect(own == own.sorted())
    }
  }

  @Test func `two simultaneous flushes of one outbox send each entry once, one at a time`() async throws {
    let waiting = try folder.outbox(server)
    for number in 0..<20 { _ = await waiting.outcome("\(number)") }
    server.set(.answers)
    let outboxes = try (0..<4).map { _ in try folder.outbox(server) }
    let reports = try await withThrowingTaskGroup(of: OutboxReport<String>.self) { group in
      for outbox in outboxes { group.addTask { await outbox.flush() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(server.received == (0..<20).map(String.init))
    #expect(server.state.value.overlaps == 0)
    #expect(reports.map(\.sent.count).reduce(0, +) == 20)
  }
}
