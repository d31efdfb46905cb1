import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// What those are told who wait for an answer, or for others that send.
@Suite(.timeLimit(.minutes(1))) struct OutboxWaitingTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let no = RequestError(.graphQL, "No.")

  @Test func `a mutation whose caller disposes is still sent, or set aside`() async throws {
    let outbox = try folder.outbox(server)
    let files = try folder.outboxFolder()
    for (mood, left) in [(OutboxServer.Mood.answers, []), (.fails(no), ["[a]"])] {
      server.set(mood)
      let letOthersSend = try #require(try files.trySend())
      let submission = Recorder(outbox.submit("a"))
      submission.dispose()
      await outbox.added()
      #expect(try outbox.contents() == ["a"])
      letOthersSend()
      await outbox.flush()
      #expect(try outbox.contents() == left)
      #expect(submission.error.value == nil)
      #expect(submission.take() == [])
    }
    #expect(server.received == ["a", "a"])
  }

  @Test func `a mutation that another process has sent meanwhile, or had refused, is reported to the caller who waits`()
    async throws
  {
    let outbox = try folder.outbox(server)
    let otherProcess = try folder.outboxFolder()
    for (refusal, outcome) in [
      (nil, "Another process has sent the change."),
      ("No.", "Another process has sent the change, and it was refused: No."),
    ] {
      let letOthersSend = try #require(try otherProcess.trySend())
      let submission = Recorder(outbox.submit("a"))
      await outbox.added()
      var entry = try #require(try outbox.entries().first)
      entry.refusal = refusal
      if refusal == nil { try otherProcess.remove(entry.name) } else { try otherProcess.replace(entry) }
      letOthersSend()
      await outbox.flush()
      #expect(submission.error.value.map { "\($0)" } == outcome)
      #expect(try outbox.contents() == [])
    }
    #expect(server.received == [])
  }

  @Test func `another process that sends, and never ends, is waited for no longer than the lock timeout`() async throws
  {
    let outbox = try folder.outbox(server, lockTimeout: .milliseconds(50))
    let otherProcess = try folder.outboxFolder()
    let letOthersSend = try #require(try otherProcess.trySend())
    #expect(await outbox.flush().error == nil, "Nothing waits")
    #expect(await outbox.outcome("a") == "queued: timed out")
    let error = await outbox.flush(lockTimeout: .zero).error as? RequestError
    #expect(error?.kind == .timedOut)
    #expect(error?.cause as? OutboxError != nil)
    #expect(server.received == [])
    #expect(try outbox.contents() == ["a"])
    letOthersSend()
    #expect(await outbox.flush().sent.map(\.mutation) == ["a"])
  }

  @Test func `a caller that waits for another process that sends leaves no file open`() async throws {
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, lockTimeout: .milliseconds(100), fileSystem: files)
    let letOthersSend = try #require(try folder.outboxFolder().trySend())
    #expect(await outbox.outcome("a") == "queued: timed out")
    await outbox.lastTurn()
    #expect(files.openCount == 0)
    letOthersSend()
  }

  @Test func `S1: signing out ends the wait for another process that sends`() async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try folder.outboxFolder()
    let letOthersSend = try #require(try otherProcess.trySend())
    let submission = Recorder(outbox.submit("a"))
    try await outbox.signOut()
    await outbox.flush()
    #expect(submission.error.value.map { "\($0)" } == "The outbox's account was signed out.")
    letOthersSend()
  }

  @Test(arguments: [true, false])
  func `a discarded mutation is reported to the caller who waits, here and in another process`(isHere: Bool)
    async throws
  {
    let outbox = try folder.outbox(server)
    let otherProcess = try folder.outboxFolder()
    let letOthersSend = try #require(try otherProcess.trySend())
    let submission = Recorder(outbox.submit("a"))
    await outbox.added()
    let other = try folder.outbox(server)
    try (isHere ? outbox : other).discard(try #require(try outbox.entries().first))
    letOthersSend()
    #expect(await outbox.flush().sent.isEmpty)
    #expect(submission.error.value.map { "\($0)" } == "The change was discarded.")
    #expect(server.received == [])
    #expect(try outbox.contents() == [])
  }

  @Test func `the files' own error is reported where the folder is gone`() async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try folder.outboxFolder()
    let letOthersSend = try #require(try otherProcess.trySend())
    let submission = Recorder(outbox.submit("a"))
    await outbox.added()
    let elsewhere = TemporaryFolder()
    try FileManager.default.moveItem(at: folder.url, to: elsewhere.url)
    #expect(await outbox.flush().error is FileError)
    await outbox.lastTurn()
    #expect(submission.error.value is FileError)
    letOthersSend()
  }

  @Test func `R1: a mutation that is reported as not sent is removed before another process can send it`() async throws
  {
    let outbox = try folder.outbox(server)
    let otherProcess = try folder.outboxFolder()
    let left = Mutable<[OutboxFileName]?>(nil)
    server.set(.fails(no))
    let submission = outbox.submit("a").do(onError: { _ in
      let names = try? otherProcess.names()
      left.update { $0 = names }
    })
    await #expect(throws: RequestError.self) { try await submission.value }
    #expect(left.value == [])
    #expect(try outbox.contents() == [])
  }

  @Test func `a caller that learns that a mutation waits can request another attempt at once`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    let submission = outbox.submit("a").do(onError: { [server] _ in
      server.set(.answers)
      outbox.flushSoon()
    })
    await #expect(throws: OutboxError.self) { try await submission.value }
    await outbox.lastTurn()
    #expect(server.received == ["a"])
  }

  @Test func `responses elsewhere use up no attempt before a pause that doubles with each`() async throws {
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    server.set(.fails(RequestError(.httpStatus, "Oops.", status: 503)))
    _ = await outbox.outcome("a")
    for attempts in 1...6 {
      for (pause, count) in [(Duration.seconds(1 << attempts) - .seconds(1), attempts), (.seconds(1), attempts + 1)] {
        scheduler.advance(by: pause)
        for _ in 0..<3 {
          outbox.flushSoon()
          await outbox.lastTurn()
        }
        #expect(server.received.count == count)
      }
    }
    #expect(try outbox.contents() == ["a"])
    for (pause, attempts) in [(Duration.seconds(127), 7), (.seconds(1), 8), (.seconds(3_600), 9)] {
      #expect(try outbox.contents() == ["a"])
      scheduler.advance(by: pause)
      for _ in 0..<3 { await outbox.flush() }
      #expect(server.received.count == attempts)
    }
    #expect(try outbox.contents() == ["[a]"])
  }

  @Test func `a server that has too many requests is retried less and less often, and uses up no attempt`() async throws
  {
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, isIdempotent: false, clock: .scheduler(scheduler))
    server.set(.fails(RequestError(.httpStatus, "Slow down.", status: 429)))
    #expect(await outbox.outcome("a") == "queued: HTTP status")
    for _ in 0..<1_000 {
      scheduler.advance(by: .seconds(1))
      outbox.flushSoon()
      await outbox.lastTurn()
    }
    #expect((8...20).contains(server.received.count))
    server.set(.answers)
    scheduler.advance(by: .seconds(128))
    #expect(await outbox.flush().sent.map(\.mutation) == ["a"])
    // What comes next is new to the server.
    server.set(.isAway)
    _ = await outbox.outcome("b")
    server.set(.answers)
    outbox.flushSoon()
    await outbox.lastTurn()
    #expect(server.received.last == "b")
  }

  @Test func `R1: a mutation that is discarded just before its attempt is not sent, and the one behind it is`()
    async throws
  {
    server.set(.isAway)
    let earlier = try folder.outbox(server)
    for mutation in ["a", "b"] { _ = await earlier.outcome(mutation) }
    server.set(.answers)
    let otherProcess = try folder.outboxFolder()
    let outbox = try Outbox<String, String>(
      folder: folder.url, partition: "account",
      isIdempotent: { mutation in
        if mutation == "a", let name = try? otherProcess.names().first {
          try? otherProcess.discard(name)
        }
        return false
      }, send: { [server] in server.send($0, $1) })
    let report = await outbox.flush()
    #expect(report.sent.map(\.mutation) == ["b"])
    #expect(report.error == nil)
    #expect(server.received == ["b"])
  }

  @Test func `submitters are answered, also after a sign-out`() async throws {
    let outbox = try folder.outbox(server)
    let entry = try outbox.folder.append("a", id: "id", now: .now())
    outbox.note(entry)
    try await outbox.signOut()
    outbox.forget(entry, .withdrawn(entry))
    let isAnswered = Monitor(false)
    outbox.publisher.answer { isAnswered.update { $0 = true } }
    try await isAnswered.wait { $0 }
    #expect(Recorder(outbox.changes).isCompleted.value, "Nothing waits after a sign-out")
  }

  @Test func `watchers are called on no thread of the cooperative pool`() async throws {
    let outbox = try folder.outbox(server)
    let name = Mutable("")
    let watching = outbox.changes.subscribe(onNext: { change in
      guard case .sent = change else { return }
      name.update { $0 = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "" }
    })
    #expect(await outbox.outcome("a") == "did a")
    watching.dispose()
    #expect(name.value == "StoreWorker\n")
  }
}
