import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// When an outbox makes no attempt, and when it makes one by itself.
@Suite(.timeLimit(.minutes(1))) struct OutboxPauseTests {
  private struct Rename: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let rename: String }
    static let query: GraphQLDocument = "mutation rename { rename }"
    var idempotencyKey: String?
  }

  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let scheduler = TestScheduler()
  private let unavailable = RequestError(.httpStatus, "Oops.", status: 503)

  private func outbox(isIdempotent: Bool = true) throws -> Outbox<String, String> {
    try folder.outbox(server, isIdempotent: isIdempotent, clock: .scheduler(scheduler), scheduler: scheduler)
  }

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504], ["application/json", "application/graphql-response+json"])
  func `a gateway that is busy or down is waited for, whatever its content type`(
    status: Int, contentType: String
  ) async throws {
    let transport = ScriptedTransport()
    transport.always(
      .any,
      .response(
        status: status, headers: HTTPHeaders([try HTTPField(name: "Content-Type", value: contentType)]),
        body: Data(#"{"errors":[{"message":"Slow down."}]}"#.utf8)))
    let client = try APIClient(baseURL: try #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    let outbox = try Outbox<String, String>(
      folder: folder.url, partition: "account", clock: .scheduler(scheduler), scheduler: scheduler,
      isIdempotent: { _ in true },
      send: { _, key in Rename(idempotencyKey: key).post(on: client).map { $0.data.rename } })
    for mutation in ["a", "b", "c"] { #expect(await outbox.outcome(mutation).hasPrefix("queued")) }
    await outbox.flush()
    #expect(try outbox.contents() == ["a", "b", "c"])
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [RequestError.Kind.graphQL, .rejected, .httpStatus], [408, 429, 503])
  func `R1: the status of a failure decides before its kind does`(kind: RequestError.Kind, status: Int) {
    let error = RequestError(kind, "Slow down.", status: status)
    for isIdempotent in [true, false] {
      #expect(OutboxVerdict(error, isIdempotent: isIdempotent) == (status == 429 ? .notSent : .mayHaveBeenSent))
    }
  }

  @Test func `flushes at the same time are one, and make no attempt during a pause`() async throws {
    server.set(.fails(unavailable))
    let outbox = try outbox()
    let submission = Recorder(outbox.submit("a"))
    await withTaskGroup { group in
      for _ in 0..<6 { group.addTask { _ = await outbox.flush() } }
    }
    #expect(submission.error.value is OutboxError)
    for _ in 0..<10 { #expect((await outbox.flush().error as? RequestError)?.status == 503) }
    #expect(server.received == ["a"])
    #expect(try outbox.entries().map(\.attempts) == [1])
    #expect(await outbox.flush(evenDuringPause: true).error != nil)
    #expect(server.received == ["a", "a"])
  }

  @Test func `a pause holds in all processes, and ends for all of them`() async throws {
    let process = { [server, folder, scheduler] in try folder.outbox(server, clock: .scheduler(scheduler)) }
    server.set(.fails(unavailable))
    #expect(try await process().outcome("a") == "queued: HTTP status")
    for _ in 0..<8 {
      // As a command does that is run again and again.
      let error = try #require(try await process().flush().error as? RequestError)
      #expect("\(error)".contains("Oops."))
    }
    #expect(server.received == ["a"])
    scheduler.advance(by: .seconds(2))
    #expect(try await process().flush().error != nil)
    // The second pause is twice as long, though a process began it that knew of the first one from the folder alone.
    scheduler.advance(by: .seconds(3))
    #expect(try await process().flush().error != nil)
    #expect(server.received == ["a", "a"])
    server.set(.answers)
    scheduler.advance(by: .seconds(1))
    let last = try process()
    #expect(await last.flush().sent.map(\.mutation) == ["a"])
    #expect(await last.outcome("b") == "did b")
    server.set(.fails(unavailable))
    #expect(try await process().outcome("c") == "queued: HTTP status")
    scheduler.advance(by: .seconds(2))
    server.set(.answers)
    #expect(try await process().flush().sent.map(\.mutation) == ["c"])
  }

  @Test func `a pause that another process begins while it sends holds for those that wait for their turn`()
    async throws
  {
    server.set(.isAway)
    let outbox = try outbox()
    _ = await outbox.outcome("a")
    server.set(.answers)
    let otherProcess = try folder.outboxFolder()
    let letOthersSend = try #require(try otherProcess.trySend())
    let flush = Task { await outbox.flush() }
    _ = otherProcess.keep(
      OutboxPause.Kept(
        failures: 1, begunAt: Uptime(outbox.uptime), microseconds: 2_000_000, reason: "Oops."))
    letOthersSend()
    #expect("\(await flush.value.error as Any)".contains("Oops."))
    #expect(server.received == [])
  }

  @Test(arguments: [OutboxServer.Mood.isAway, .losesAnswers, .fails(RequestError(.httpStatus, "Oops.", status: 503))])
  func `a waiting mutation is sent by itself once the server responds again`(mood: OutboxServer.Mood) async throws {
    server.set(mood)
    let outbox = try outbox()
    _ = await outbox.outcome("a")
    await outbox.lastTurn()
    let attempts = server.received.count
    scheduler.advance(by: .seconds(2))
    await outbox.lastTurn()
    #expect(try outbox.contents() == ["a"])
    server.set(.answers)
    scheduler.advance(by: .seconds(3))
    await outbox.lastTurn()
    #expect(try outbox.contents() == ["a"], "The second pause takes four seconds")
    scheduler.advance(by: .seconds(1))
    await outbox.lastTurn()
    #expect(try outbox.contents() == [])
    #expect(server.received.count <= 2 * attempts + 1)
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `a pause is as long as the server's Retry-After, up to an hour`() async throws {
    for (asked, pause) in [(Duration.seconds(60), 60), (.seconds(86_400), 3_600), (.seconds(1), 2)] {
      var error = unavailable
      error.retryAfter = asked
      var outboxPause = OutboxPause()
      outboxPause.begin(attempts: 1, because: error, holdsBack: true, now: .zero)
      #expect(outboxPause.remaining(now: .zero) == .seconds(pause))
    }
    let transport = ScriptedTransport()
    transport.always(.any, .response(status: 503, headers: ["Retry-After": "60"]))
    let client = try APIClient(baseURL: try #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    let error = await #expect(throws: RequestError.self) { try await Rename().post(on: client).value }
    #expect(error?.retryAfter == .seconds(60))
  }

  @Test func `a pause ends for a process that knows of it when another one has sent something`() async throws {
    server.set(.fails(unavailable))
    let outbox = try outbox()
    _ = await outbox.outcome("a")
    server.set(.answers)
    #expect(await (try folder.outbox(server, clock: .scheduler(scheduler))).flush(evenDuringPause: true).error == nil)
    #expect(await outbox.outcome("b") == "did b")
  }

  @Test func `a mutation that an earlier process has left is sent by itself`() async throws {
    server.set(.isAway)
    _ = try await folder.outbox(server, clock: .scheduler(scheduler)).outcome("a")
    server.set(.answers)
    let later = try outbox()
    scheduler.advance(by: .seconds(2))
    await later.lastTurn()
    #expect(server.received == ["a"])
  }

  @Test func `an entry that was set aside is sent by itself once it is queued again`() async throws {
    server.set(.fails(RequestError(.graphQL, "No.")))
    let outbox = try outbox()
    Recorder(outbox.submit("a")).dispose()
    await outbox.lastTurn()
    #expect(try outbox.contents() == ["[a]"])
    server.set(.answers)
    #expect(try outbox.retry(id: try #require(outbox.entries().first).id))
    scheduler.advance(by: .seconds(2))
    await outbox.lastTurn()
    #expect(server.received == ["a", "a"])
    #expect(try outbox.contents() == [])
  }

  @Test func `R1: an unauthenticated mutation waits, whatever its status and content type are`() {
    let cause = GraphQLErrors([GraphQLError(message: "No.", extensions: ["code": "UNAUTHENTICATED"])])
    for (kind, status) in [(RequestError.Kind.httpStatus, 400), (.httpStatus, 403), (.graphQL, 200), (.graphQL, 500)] {
      let error = RequestError(kind, "No.", status: status, cause: cause)
      #expect(OutboxVerdict(error, isIdempotent: false) == .blocked)
    }
  }

  @Test func `an outbox that is released, or signed out, makes no more attempts`() async throws {
    server.set(.isAway)
    var released: Outbox<String, String>? = try outbox()
    _ = await released?.outcome("a")
    await released?.lastTurn()
    #expect(scheduler.pendingCount == 1)
    released = nil
    #expect(scheduler.pendingCount == 0)
    let signedOut = try outbox()
    await signedOut.flush()
    #expect(scheduler.pendingCount == 1)
    try await signedOut.signOut()
    #expect(scheduler.pendingCount == 0)
  }
}
