import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

@Suite("closing outboxes")
struct OutboxClosingTests {
  let folder = TemporaryFolder()
  let server = OutboxServer()

  /// As users open it.
  private func open(_ partition: String = "account", in url: URL? = nil) throws -> Outbox<String, String> {
    try Outbox(
      folder: url ?? folder.url, partition: partition, scheduler: TestScheduler(), isIdempotent: { _ in true },
      send: { server.send($0, $1) })
  }

  @Test func `of the outboxes of a folder and partition one is open in a process`() async throws {
    let first = try open()
    let link = folder.url.deletingLastPathComponent().appendingPathComponent("\(UUID())")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url)
    defer { try? FileManager.default.removeItem(at: link) }
    for url in [folder.url, link] {
      do {
        _ = try open(in: url)
        Issue.record("a second outbox was opened")
      } catch OutboxError.alreadyOpen {}
    }
    let other = try open("another account")
    let outcomes = await [first.outcome("a"), other.outcome("b")]
    #expect(outcomes == ["did a", "did b"])
    await first.close()
    let second = try open()
    #expect(await second.outcome("c") == "did c")
  }

  @Test func `an outbox that nobody has any more makes room for the next one`() async throws {
    weak var first: Outbox<String, String>?
    do {
      let outbox = try open()
      first = outbox
      #expect(await outbox.outcome("a") == "did a")
      await outbox.lastTurn()
    }
    let deadline = ContinuousClock.now + .seconds(10)
    while first != nil, .now < deadline { await Task.yield() }
    #expect(first == nil)
    #expect(try await open().outcome("b") == "did b")
  }

  @Test func `an outbox that is being released on another thread has made room already`() throws {
    for round in 0..<300 {
      let held = Mutable<Outbox<String, String>?>(try open())
      weak let released = held.value
      let isDone = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        let outbox = held.update { $0.take() }
        withExtendedLifetime(outbox) {}
        isDone.signal()
      }
      while released != nil {}
      #expect(throws: Never.self, "round \(round)") { _ = try open() }
      isDone.wait()
    }
  }

  @Test func `an outbox says that it is busy while its submitter holds it, and when it finds something to send`()
    async throws
  {
    let outbox = try folder.outbox(server)
    let count = Mutable(0)
    outbox.notifyWhenBusy { [weak outbox] in
      #expect(outbox?.isBusy == true)
      count.update { $0 += 1 }
    }
    #expect(count.value == 0)
    let submission = Recorder(outbox.submit("a"))
    #expect(count.value >= 1)
    await outbox.lastTurn()
    #expect(submission.take() == ["did a"])
    #expect(!outbox.isBusy)
    // Another process leaves something.
    _ = try folder.outboxFolder().append("b", id: "id", now: .now())
    server.set(.isAway)
    let before = count.value
    await outbox.flush()
    #expect(count.value > before)
    #expect(outbox.isBusy)
    let late = Mutable(false)
    outbox.notifyWhenBusy { late.update { $0 = true } }
    #expect(late.value)
    #expect(!outbox.hasEnded)
    await outbox.close()
    #expect(outbox.hasEnded)
  }

  @Test func `closing keeps what waits, sends nothing more, and completes the changes`() async throws {
    let outbox = try open()
    let changes = Recorder(outbox.changes)
    server.set(.isAway)
    #expect(await outbox.outcome("a") == "queued: cannot connect")
    server.set(.answers)
    await outbox.close()
    #expect(changes.isCompleted.value)
    #expect(await outbox.flush(evenDuringPause: true).error is RequestError)
    #expect(server.received == [])
    let next = try open()
    #expect(try next.contents() == ["a"])
    await next.flush(evenDuringPause: true)
    #expect(server.received == ["a"])
  }

  @Test func `what was submitted before an outbox is closed is kept for the next one`() async throws {
    let outbox = try open()
    server.set(.isAway)
    let submissions = ["a", "b"].map { Recorder(outbox.submit($0)) }
    await outbox.close()
    for submission in submissions {
      let error = submission.error.value.map { "\($0)" }
      #expect(error?.hasPrefix("The change is queued") == true)
    }
    #expect(try open().contents() == ["a", "b"])
  }

  @Test func `what is submitted to a closed outbox is not kept, as the open one would not hear of it`() async throws {
    let outbox = try open()
    await outbox.close()
    let next = try open()
    #expect(await outbox.outcome("a") == "The outbox is closed: the change was not kept.")
    #expect(!outbox.isBusy)
    #expect(try next.contents() == [])
  }

  @Test func `a group keeps the outbox of an idle account while something waits in it`() async throws {
    let scheduler = TestScheduler()
    let group = OutboxGroup<String, String, String>(idleTimeout: .seconds(60), scheduler: scheduler) { account in
      try open(account)
    }
    server.set(.isAway)
    #expect(await (try group.outbox(for: "mei")).outcome("a") == "queued: cannot connect")
    #expect(await (try group.outbox(for: "tom")).submitted() == false)
    await (try group.outbox(for: "mei")).lastTurn()
    scheduler.advance(by: .seconds(120))
    #expect(group.accounts == ["mei"])
    server.set(.answers)
    await (try group.outbox(for: "mei")).flush(evenDuringPause: true)
    #expect(server.received == ["a"])
    scheduler.advance(by: .seconds(120))
    // The task of its last turn may have it for a moment yet.
    let deadline = ContinuousClock.now + .seconds(10)
    while !group.accounts.isEmpty, .now < deadline { await Task.yield() }
    #expect(group.accounts == [])
    #expect(try group.outbox(for: "mei").contents() == [])
    await group.close()
    #expect(group.accounts == [])
  }
}

extension Outbox<String, String> {
  /// Whether something waits.
  fileprivate func submitted() async -> Bool {
    await added()
    return isBusy
  }
}
