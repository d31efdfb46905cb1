import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// How often a server is asked that fails, by all who submit and all that succeeds elsewhere.
@Suite(.timeLimit(.minutes(1))) struct OutboxTurnTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let scheduler = TestScheduler()
  private let unavailable = RequestError(.httpStatus, "Oops.", status: 503)

  private let attempts = Monitor(0)
  private let gate = Latch()

  /// An outbox whose attempts fail as soon as the gate is open.
  private func heldOutbox(failingWith error: RequestError) throws -> Outbox<String, String> {
    try Outbox(
      folder: folder.url, partition: "account", lockTimeout: .seconds(60), clock: .scheduler(scheduler),
      fileSystem: SystemFileSystem(), isIdempotent: { _ in true },
      send: { [attempts, gate] _, _ in
        .create { observer in
          attempts.update { $0 += 1 }
          gate.whenOpen { observer.onError(error) }
          return Disposables.create()
        }
      })
  }

  @Test(arguments: [(RequestError(.timedOut, "Late."), 1), (RequestError(.cannotConnect, "Refused."), 2)])
  func `callers that submit during a failing attempt get its failure after one more attempt at most`(
    error: RequestError, count: Int
  ) async throws {
    let outbox = try heldOutbox(failingWith: error)
    let first = Recorder(outbox.submit("a"))
    try await attempts.wait { $0 == 1 }
    let others = ["b", "c", "d"].map { Recorder(outbox.submit($0)) }
    await outbox.added()
    gate.open()
    await outbox.lastTurn()
    for submission in [first] + others {
      guard case OutboxError.queued(let reason)? = submission.error.value else { return #expect(Bool(false)) }
      #expect(reason.kind == error.kind)
    }
    #expect(attempts.value == count)
    #expect(try outbox.contents() == ["a", "b", "c", "d"])
  }

  @Test func `a mutation is not set aside however much is submitted to a server that fails`() async throws {
    server.set(.fails(unavailable))
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    for number in 0..<20 { #expect(await outbox.outcome("\(number)") == "queued: HTTP status") }
    #expect(server.received == ["0"])
    #expect(try outbox.contents() == (0..<20).map(String.init))
    server.set(.answers)
    scheduler.advance(by: .seconds(2))
    #expect(await outbox.outcome("20") == "did 20")
    #expect(server.received == ["0"] + (0...20).map(String.init))
  }

  @Test func `a success elsewhere during a failing attempt makes no other attempt before the pause`() async throws {
    let outbox = try heldOutbox(failingWith: unavailable)
    let submission = Recorder(outbox.submit("a"))
    try await attempts.wait { $0 == 1 }
    outbox.flushSoon()
    gate.open()
    await outbox.lastTurn()
    #expect(submission.error.value is OutboxError)
    #expect(attempts.value == 1)
  }

  @Test func `a success elsewhere does not repeat at once a mutation that needs a token`() async throws {
    server.set(.fails(RequestError(.httpStatus, "Who?", status: 401)))
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    _ = await outbox.outcome("a")
    for _ in 0..<3 {
      outbox.flushSoon()
      await outbox.lastTurn()
    }
    #expect(server.received == ["a"])
    scheduler.advance(by: .seconds(2))
    server.set(.answers)
    outbox.flushSoon()
    await outbox.lastTurn()
    #expect(server.received == ["a", "a"])
  }

  @Test func `an entry that is queued again while a later one is being sent is sent in two seconds`() async throws {
    let others = try folder.outboxFolder()
    let refused = try others.append("a", id: "a", now: .now())
    try others.update(refused.name) { entry in
      entry.refusal = "No."
      return true
    }
    let outbox = try Outbox<String, String>(
      folder: folder.url, partition: "account", lockTimeout: .seconds(60), clock: .scheduler(scheduler),
      scheduler: scheduler, fileSystem: SystemFileSystem(), isIdempotent: { _ in true },
      send: { [attempts, gate] mutation, _ in
        .create { observer in
          attempts.update { $0 += 1 }
          gate.whenOpen {
            observer.onNext("did \(mutation)")
            observer.onCompleted()
          }
          return Disposables.create()
        }
      })
    let submission = Recorder(outbox.submit("b"))
    try await attempts.wait { $0 == 1 }
    #expect(try outbox.retry(id: "a"))
    gate.open()
    await outbox.lastTurn()
    #expect(submission.take() == ["did b"])
    #expect(attempts.value == 1)
    scheduler.advance(by: .seconds(2))
    await outbox.lastTurn()
    #expect(attempts.value == 2)
    #expect(try outbox.contents() == [])
  }
}
