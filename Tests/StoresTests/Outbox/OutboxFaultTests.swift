import Foundation
import Glibc
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@testable import Stores

/// What an outbox says, and does, when its files fail.
@Suite struct OutboxFaultTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  @Test func `R1: a mutation that is reported as not written is not sent later`() async throws {
    var call = 0
    while true {
      let (folder, server, files) = (TemporaryFolder(), OutboxServer(), FaultyFileSystem())
      let outbox = try folder.outbox(server, isIdempotent: false, fileSystem: files)
      server.set(.isAway)
      files.fail(call: call)
      let outcome = await outbox.outcome("a")
      let isPast = files.calls <= call
      files.fail(call: nil)
      server.set(.answers)
      try await folder.outbox(server).flush()
      #expect(outcome.hasPrefix("queued") == server.received.contains("a"), "call \(call): \(outcome)")
      await outbox.lastTurn()
      #expect(files.openCount == 0, "call \(call)")
      if isPast { break }
      call += 1
    }
    #expect(call > 20)
  }

  @Test func `R1: an entry whose folder cannot be synced is sent by no process that looks meanwhile`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, isIdempotent: false, fileSystem: files)
    let other = try folder.outbox(server, isIdempotent: false)
    #expect(await outbox.outcome("a") == "did a")
    let turn = Mutable<Task<OutboxReport<String>, Never>?>(nil)
    files.onFault {
      // The entry is in place now: the other process has time to send it, unless it waits for the lock.
      let isOver = DispatchSemaphore(value: 0)
      let task = Task {
        let report = await other.flush()
        isOver.signal()
        return report
      }
      turn.update { $0 = task }
      _ = isOver.wait(timeout: .now() + 0.5)
    }
    files.failAfterRenaming(toNameEndingWith: ".e1")
    let outcome = await outbox.outcome("b")
    let report = try #require(await turn.value?.value)
    #expect(outcome == "sync: Input/output error")
    #expect(report.sent.isEmpty)
    #expect(server.received == ["a"])
  }

  @Test func `R1: an entry that can neither be synced nor removed again is not reported as not kept`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    #expect(await outbox.outcome("a") == "did a")
    files.failAfterRenaming(toNameEndingWith: ".e1", isLasting: true)
    let outcome = await outbox.outcome("b")
    await outbox.lastTurn()
    files.fail(call: nil)
    try await folder.outbox(server).flush()
    #expect(outcome == "queued: unknown")
    #expect(server.received == ["a", "b"])
  }

  @Test(arguments: [EIO, EACCES])
  func `an entry that cannot be read because of the system is not overtaken`(code: Int32) async throws {
    let files = FaultyFileSystem()
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler), scheduler: scheduler, fileSystem: files)
    server.set(.isAway)
    for mutation in ["1", "2", "3"] { _ = await outbox.outcome(mutation) }
    let oldest = try #require(try outbox.entries().first)
    files.failReading(ofFilesEndingWith: "\(oldest.name)", code: code)
    server.set(.answers)
    #expect((await outbox.flush().error as? FileError)?.code == code)
    #expect(server.received == [])
    // Not even by a process that finds the files so.
    let later = try folder.outbox(server, fileSystem: files)
    #expect((await later.flush().error as? FileError)?.code == code)
    #expect(server.received == [])
    files.failReading(ofFilesEndingWith: nil)
    #expect(await outbox.flush().sent.map(\.mutation) == ["1", "2", "3"])
    #expect(server.received == ["1", "2", "3"])
  }

  @Test func `mutations that wait for a lock that is not given back fail together, and block no task`() async throws {
    let files = FaultyFileSystem(lockTimeout: .milliseconds(300))
    let outbox = try folder.outbox(server, fileSystem: files)
    let holder = SystemFileSystem()
    let lockFile = try #require(folder.files.first { $0.hasSuffix("/lock") })
    let lock = try holder.open(folder.path(lockFile), .lock)
    #expect(try holder.tryLock(lock))
    files.fail(call: nil)
    let submissions = (0..<8).map { Recorder(outbox.submit("\($0)")) }
    // Subscribing has returned, though nothing could be written yet.
    #expect(submissions.allSatisfy { $0.error.value == nil })
    await outbox.added()
    #expect(submissions.allSatisfy { ($0.error.value as? FileError)?.isLockTimeout == true })
    #expect(files.names.count { $0 == "open" } == 1, "They have waited once")
    try holder.close(lock)
    #expect(await outbox.outcome("8") == "did 8")
    #expect(server.received == ["8"])
  }

  @Test func `D3: a mutation that may have reached the server waits, though its attempts cannot be recorded`()
    async throws
  {
    var call = 0
    while true {
      let (folder, server, files) = (TemporaryFolder(), OutboxServer(), FaultyFileSystem())
      let outbox = try folder.outbox(server, fileSystem: files)
      server.set(.losesAnswers)
      files.fail(call: call, .noSpace)
      let outcome = await outbox.outcome("a")
      let isPast = files.calls <= call
      files.fail(call: nil)
      if server.received.contains("a") {
        #expect(outcome.hasPrefix("queued"), "call \(call): \(outcome)")
        #expect(try outbox.contents() == ["a"], "call \(call): \(outcome)")
      }
      if isPast { break }
      call += 1
    }
    #expect(call > 20)
  }

  @Test func `R1: a mutation that was not sent is reported with the reason, though its attempts cannot be recorded`()
    async throws
  {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, isIdempotent: false, fileSystem: files)
    server.set(.isAway)
    files.fail(call: nil)
    #expect(await outbox.outcome("a") == "queued: cannot connect")
    let renames = files.names.count { $0 == "rename" }
    for entry in try outbox.entries() { try outbox.discard(entry) }
    files.fail("rename", number: renames - 1, .noSpace)
    #expect(await outbox.outcome("b") == "cannot connect")
    #expect(try outbox.contents() == [])
  }

  @Test func `S1: a file that cannot be removed does not keep the others`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    for mutation in ["a", "b", "c"] { _ = await outbox.outcome(mutation) }
    await outbox.flush()
    // After that of a temporary file.
    files.fail("remove", number: 1)
    await #expect(throws: FileError.self) { try await outbox.signOut() }
    #expect(files.names.last { ["remove", "sync"].contains($0) } == "sync")
    #expect(folder.files.filter { $0.hasSuffix(".e1") }.count == 1)
    #expect(!outbox.hasEnded, "its group has to sign out this one again")
    try await outbox.signOut()
    #expect(outbox.hasEnded)
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
  }

  @Test func `D8, A2: what a failed sign-out has left is sent by no outbox that is opened later`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    for mutation in ["a", "b", "c"] { _ = await outbox.outcome(mutation) }
    await outbox.lastTurn()
    files.fail("remove", number: 1)
    await #expect(throws: FileError.self) { try await outbox.signOut() }
    #expect(folder.files.filter { $0.hasSuffix(".e1") }.count == 1)
    let next = try folder.outbox(server)
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
    _ = await next.outcome("d")
    // As who got the failure does: what is there now is not what it was to remove.
    try await outbox.signOut()
    server.set(.answers)
    #expect(await next.flush().sent.map(\.mutation) == ["d"])
    #expect(server.received == ["d"])
  }

  /// What the next session has added after another process has finished a sign-out that had failed here.
  @Test(arguments: [false, true])
  func `D8: a sign-out that another process has finished removes nothing of the next session`(
    isTriedAgain: Bool
  ) async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    _ = await outbox.outcome("a")
    await outbox.lastTurn()
    files.keepFiles(endingWith: ".e1")
    await #expect(throws: FileError.self) { try await outbox.signOut() }
    files.keepFiles(endingWith: nil)
    // Another process, which signs out once more.
    try await folder.outbox(OutboxServer()).signOut()
    let other = try folder.outbox(server)
    _ = await other.outcome("b")
    await other.lastTurn()
    if isTriedAgain { try await outbox.signOut() }
    server.set(.answers)
    #expect(await (try folder.outbox(server)).flush().sent.map(\.mutation) == ["b"])
    #expect(server.received == ["b"])
  }

  @Test func `D8, A2: a sign-out of an earlier session does not make one forgotten that a later one has begun`()
    async throws
  {
    let files = FaultyFileSystem()
    let (outbox, other) = (try folder.outbox(server), try folder.outbox(server))
    server.set(.isAway)
    try await other.signOut()
    let next = try folder.outbox(server, fileSystem: files)
    _ = await next.outcome("b")
    await next.lastTurn()
    files.fail(call: 0, isLasting: true)
    await #expect(throws: FileError.self) { try await next.signOut() }
    try await outbox.signOut()
    server.set(.answers)
    try await folder.outbox(server).flush()
    #expect(server.received == [])
  }

  @Test func `D8: a sign-out of an earlier session removes nothing of a later one`() async throws {
    let (outbox, other) = (try folder.outbox(server), try folder.outbox(server))
    server.set(.isAway)
    try await other.signOut()
    let next = try folder.outbox(server)
    _ = await next.outcome("b")
    await next.lastTurn()
    try await outbox.signOut()
    server.set(.answers)
    #expect(await next.flush().sent.map(\.mutation) == ["b"])
  }

  @Test func `D8, A2: a sign-out for which nothing could be written is finished by the next outbox of the process`()
    async throws
  {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    _ = await outbox.outcome("a")
    await outbox.lastTurn()
    files.fail(call: 0, isLasting: true)
    await #expect(throws: FileError.self) { try await outbox.signOut() }
    server.set(.answers)
    try await folder.outbox(server).flush()
    #expect(server.received == [])
  }

  @Test func `an outbox makes a removed folder again, but not after a sign-out`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    try FileManager.default.removeItem(at: folder.url)
    #expect(await outbox.outcome("b") == "queued: cannot connect")
    #expect(try outbox.contents() == ["b"])
    try await outbox.signOut()
    try FileManager.default.removeItem(at: folder.url)
    await #expect { try await outbox.submit("c").value } throws: { error in
      if case OutboxError.signedOut = error { true } else { false }
    }
    #expect(!FileManager.default.fileExists(atPath: folder.url.path()))
    try await outbox.signOut()
  }

  private enum Oddity: CaseIterable { case link, folder, pipe }

  @Test(.timeLimit(.minutes(1)), arguments: Oddity.allCases)
  private func `a file that cannot be opened or read is listed and reported, and delays no other`(
    oddity: Oddity
  ) async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    for mutation in ["a", "b"] { _ = await outbox.outcome(mutation) }
    let first = try #require(try outbox.entries().first)
    let path = folder.path(try #require(folder.files.first { $0.hasSuffix("\(first.name)") }))
    try FileManager.default.removeItem(atPath: path)
    switch oddity {
    case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .pipe: try #require(mkfifo(path, 0o600) == 0)
    }
    for outbox in [outbox, try folder.outbox(server)] {
      #expect(try outbox.contents() == ["b"])
      #expect(try outbox.unreadableEntries().map(\.id) == [first.id])
    }
    server.set(.answers)
    let report = await outbox.flush()
    #expect(report.sent.map(\.mutation) == ["b"])
    #expect(report.unreadable.map(\.id) == [first.id])
    #expect(report.error == nil)
    #expect(await outbox.outcome("c") == "did c")
    if oddity == .folder { return }
    #expect(try outbox.discard(id: first.id))
    #expect(try outbox.unreadableEntries() == [])
  }

  @Test func `a folder that is called like a file of the outbox's own is let be`() async throws {
    _ = try folder.outbox(server)
    let partition = try #require(folder.files.first { $0.hasSuffix("/lock") }).dropLast(5)
    try FileManager.default.createDirectory(
      atPath: folder.path("\(partition)/temporary-1"), withIntermediateDirectories: false)
    let outbox = try folder.outbox(server)
    server.set(.answers)
    #expect(await outbox.outcome("a") == "did a")
  }

  @Test func `a fault that keeps any file from being read is no fault of an entry`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    _ = await outbox.outcome("a")
    files.fail(call: nil)
    #expect(try outbox.unreadableEntries() == [])
    let open = try #require(files.names.lastIndex(of: "open"))
    files.fail(call: open, .noSpace)
    #expect(throws: FileError.self) { try outbox.unreadableEntries() }
    files.fail(call: open, .noAccess)
    #expect(try outbox.unreadableEntries().count == 1)
  }

  @Test func `a mutation that succeeded, and cannot be removed, is not resent and delays no other`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.isAway)
    for mutation in ["a", "b"] { _ = await outbox.outcome(mutation) }
    server.set(.answers)
    files.keepFiles(endingWith: ".e1")
    let report = await outbox.flush()
    #expect(report.sent.map(\.mutation) == ["a", "b"])
    #expect(report.error is FileError)
    #expect(await outbox.outcome("c") == "did c")
    #expect(await outbox.flush().sent.isEmpty)
    #expect(try outbox.contents() == [])
    files.keepFiles(endingWith: nil)
    #expect(await outbox.flush().sent.isEmpty)
    #expect(server.received == ["a", "b", "c"])
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
  }

  @Test func `R1: a mutation that is reported as refused, and cannot be removed, is not resent`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    server.set(.fails(RequestError(.graphQL, "No.")))
    files.keepFiles(endingWith: ".e1")
    #expect(await outbox.outcome("a") == "GraphQL")
    server.set(.answers)
    #expect(await outbox.outcome("b") == "did b")
    #expect(server.received == ["a", "b"])
  }

  @Test func `R1: what succeeded, and cannot be removed, is not sent again by the next outbox of its folder`()
    async throws
  {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    files.keepFiles(endingWith: ".e1")
    for mutation in ["like", "unlike"] { #expect(await outbox.outcome(mutation) == "did \(mutation)") }
    #expect(outbox.isBusy, "A group must keep it until they are removed.")
    await outbox.close()
    let next = try folder.outbox(server)
    #expect(await next.flush().sent.isEmpty)
    #expect(server.received == ["like", "unlike"])
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
    #expect(!next.isBusy)
  }

  @Test func `R1: a second sign-out of an earlier session does not let what a later one has finished be sent again`()
    async throws
  {
    let earlier = try folder.outbox(server)
    try await earlier.signOut()
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, fileSystem: files)
    files.keepFiles(endingWith: ".e1")
    #expect(await outbox.outcome("a") == "did a")
    try await earlier.signOut()
    await earlier.close()
    await outbox.close()
    let next = try folder.outbox(server)
    await next.flush()
    #expect(server.received == ["a"])
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
  }

  @Test func `the next outbox of a folder removes by itself what the one before has finished`() async throws {
    let (files, time) = (FaultyFileSystem(), TestScheduler())
    let outbox = try folder.outbox(server, fileSystem: files)
    files.keepFiles(endingWith: ".e1")
    #expect(await outbox.outcome("a") == "did a")
    await outbox.close()
    let next = try folder.outbox(server, scheduler: time, fileSystem: files)
    files.keepFiles(endingWith: nil)
    time.advance(by: .seconds(5))
    await next.lastTurn()
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
    #expect(!next.isBusy)
    #expect(server.received == ["a"])
  }

  @Test func `what succeeded, and cannot be removed, is removed by itself as soon as it can be`() async throws {
    let (files, time) = (FaultyFileSystem(), TestScheduler())
    let outbox = try folder.outbox(server, scheduler: time, fileSystem: files)
    files.keepFiles(endingWith: ".e1")
    #expect(await outbox.outcome("a") == "did a")
    for _ in 0..<3 {
      await outbox.lastTurn()
      time.advance(by: .seconds(5))
    }
    files.keepFiles(endingWith: nil)
    await outbox.lastTurn()
    time.advance(by: .seconds(5))
    await outbox.lastTurn()
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
    #expect(server.received == ["a"])
  }

  @Test func `an entry that cannot be read back is reported as unreadable, and is no longer shown`() async throws {
    let outbox = try Outbox<OneWay, String>(
      folder: folder.url, partition: "account", isIdempotent: { _ in true }, send: { _, _ in .just("did") })
    let changes = Recorder(outbox.changes)
    let submission = Recorder(outbox.submit(OneWay()))
    let report = await outbox.flush()
    let entry = try #require(report.unreadable.first)
    _ = await outbox.state.withLock { $0.turn }?.value
    #expect(submission.error.value.map { "\($0)" }?.contains(entry.id) == true)
    #expect(changes.take().count == 2)
    #expect(try outbox.discard(id: entry.id))
    #expect(try outbox.unreadableEntries() == [])
  }
}

/// A mutation that is written as what it cannot be read from.
private struct OneWay: Codable, Sendable {
  init() {}

  init(from decoder: any Decoder) throws { throw Failure() }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(1)
  }
}
