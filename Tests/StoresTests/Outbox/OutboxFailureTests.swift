import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@testable import Stores

/// What becomes of a mutation whose attempt fails.
@Suite struct OutboxFailureTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let no = RequestError(.graphQL, "No.")

  @Test func `a mutation that may have reached the server is repeated under its own key alone`() async throws {
    server.set(.losesAnswers)
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    #expect(await outbox.outcome("a") == "queued: connection lost")
    server.set(.answers)
    scheduler.advance(by: .seconds(2))
    await outbox.flush()
    #expect(server.received == ["a", "a"])
    #expect(Set(server.keys).count == 1)
  }

  @Test func `R1: a mutation that is not idempotent, and may have reached the server, is reported and never resent`()
    async throws
  {
    server.set(.losesAnswers)
    let outbox = try folder.outbox(server, isIdempotent: false)
    #expect(await outbox.outcome("a") == "connection lost")
    #expect(try outbox.contents() == [])
    // What is submitted before the turn is over waits, like anything behind what the server has failed at.
    await outbox.lastTurn()
    server.set(.isAway)
    let outcome = await outbox.outcome("b")
    #expect(outcome == "queued: cannot connect")
    server.set(.losesAnswers)
    #expect(await outbox.flush().refused.map(\.mutation) == ["b"])
    server.set(.answers)
    await outbox.flush()
    #expect(server.received == ["a", "b"])
    #expect(try outbox.contents() == ["[b]"])
  }

  @Test func `R1: a mutation that is set aside because the server fails leaves the ones behind it waiting`()
    async throws
  {
    server.set(.isAway)
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, isIdempotent: false, clock: .scheduler(scheduler))
    for mutation in ["a", "b", "c"] { _ = await outbox.outcome(mutation) }
    server.set(.fails(RequestError(.httpStatus, "Oops.", status: 503)))
    let report = await outbox.flush()
    #expect(report.refused.map(\.mutation) == ["a"])
    #expect((report.error as? RequestError)?.status == 503)
    #expect(await outbox.outcome("d") == "queued: HTTP status")
    #expect(try outbox.contents() == ["[a]", "b", "c", "d"])
    server.set(.answers)
    scheduler.advance(by: .seconds(2))
    #expect(await outbox.outcome("e") == "did e")
    #expect(server.received == ["a", "b", "c", "d", "e"])
  }

  @Test func `R1: a mutation that is not idempotent waits as long as it was certainly not sent`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server, isIdempotent: false)
    _ = await outbox.outcome("a")
    for _ in 0..<10 { await outbox.flush() }
    server.set(.answers)
    #expect(await outbox.flush().sent.count == 1)
  }

  @Test func `R1: an attempt that the end of a process cut off is not repeated unless idempotent`() async throws {
    for isIdempotent in [true, false] {
      let folder = TemporaryFolder()
      let files = try folder.outboxFolder()
      var entry = try files.append("a", id: "key", now: .now())
      entry.attempts = 1
      try files.replace(entry)
      let outbox = try folder.outbox(server, isIdempotent: isIdempotent)
      let report = await outbox.flush()
      #expect(report.sent.map(\.id) == (isIdempotent ? ["key"] : []))
      #expect(report.refused.map(\.id) == (isIdempotent ? [] : ["key"]))
    }
    #expect(server.keys == ["key"])
  }

  @Test func `a refusal is delivered to the caller who waits, and the mutation is not kept`() async throws {
    server.set(.fails(no))
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "GraphQL")
    #expect(try outbox.contents() == [])
  }

  @Test func `a mutation that is refused later is reported, set aside and not retried, and the others are sent`()
    async throws
  {
    server.set(.isAway)
    var outbox = try folder.outbox(server)
    for mutation in ["a", "b"] { _ = await outbox.outcome(mutation) }
    let changes = Recorder(outbox.changes)
    server.set(.fails(no))
    let report = await outbox.flush()
    #expect(report.refused.map(\.mutation) == ["a", "b"])
    #expect(report.error == nil)
    #expect(report.refused.first?.refusal == "GraphQL: No.")
    let refusals = changes.take().compactMap { change -> String? in
      if case .refused(let entry, let error) = change { "\(entry.mutation) \(error)" } else { nil }
    }
    #expect(refusals == ["a GraphQL: No.", "b GraphQL: No."])
    outbox = try folder.outbox(server)
    server.set(.answers)
    #expect(await outbox.flush().sent.isEmpty)
    #expect(server.received == ["a", "b"])
    #expect(try outbox.contents() == ["[a]", "[b]"])
    for entry in try outbox.entries() { try outbox.discard(entry) }
    #expect(try outbox.contents() == [])
  }

  @Test func `a mutation that fails in the server eight times, and for an hour, is set aside`() async throws {
    server.set(.fails(RequestError(.httpStatus, "Oops.", status: 500)))
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    #expect(await outbox.outcome("a") == "queued: HTTP status")
    for attempts in 2...9 {
      #expect(try outbox.contents() == ["a"])
      scheduler.advance(by: attempts == 9 ? .seconds(3_600) : .seconds(128))
      await outbox.flush()
    }
    #expect(try outbox.contents() == ["[a]"])
    #expect(server.received.count == 9)
    #expect(Set(server.keys).count == 1)
    server.set(.answers)
    scheduler.advance(by: .seconds(128))
    #expect(await outbox.outcome("b") == "did b")
  }

  @Test(arguments: [
    RequestError(.httpStatus, "Who?", status: 401), RequestError(.insecure, "Not the server."),
    RequestError(.redirectRefused, "Sign in to the network."),
    RequestError(.invalidRequest, "The proxy is no URL.", cause: WrongSettings()),
  ])
  func `a mutation that needs a sign-in first waits, whether it was attempted itself or not`(error: RequestError)
    async throws
  {
    let outbox = try folder.outbox(server, isIdempotent: false)
    server.set(.fails(error))
    for mutation in ["a", "b"] { #expect(await outbox.outcome(mutation) == "queued: \(error.kind)") }
    #expect((await outbox.flush().error as? RequestError)?.kind == error.kind)
    #expect(try outbox.contents() == ["a", "b"])
    server.set(.answers)
    // Whoever submits may have mended it.
    #expect(await outbox.outcome("c") == "did c")
    #expect(server.received.suffix(3) == ["a", "b", "c"])
  }

  @Test(arguments: [
    (RequestError(.cannotConnect, ""), "notSent"), (RequestError(.circuitOpen, ""), "notSent"),
    (RequestError(.overloaded, ""), "notSent"), (RequestError(.timedOut, ""), "mayHaveBeenSent"),
    (RequestError(.connectionLost, ""), "mayHaveBeenSent"), (RequestError(.badResponse, ""), "mayHaveBeenSent"),
    (RequestError(.httpStatus, "", status: 503), "mayHaveBeenSent"),
    (RequestError(.httpStatus, "", status: 429), "notSent"),
    (RequestError(.httpStatus, "", status: 400), "refused"), (RequestError(.httpStatus, "", status: 403), "refused"),
    (RequestError(.httpStatus, "", status: 401), "blocked"), (RequestError(.graphQL, ""), "refused"),
    (RequestError(.graphQL, "", status: 401), "blocked"), (RequestError(.unknown, "", status: 401), "blocked"),
    (RequestError(.undecodable, ""), "mayHaveBeenSent"), (RequestError(.unknown, ""), "refused"),
    (RequestError(.invalidRequest, ""), "refused"),
    (RequestError(.invalidRequest, "", cause: WrongSettings()), "blocked"),
    (RequestError(.timedOut, "", reached: .never), "notSent"),
  ])
  func `each kind of failure has its meaning`(error: RequestError, verdict: String) {
    #expect("\(OutboxVerdict(error, isIdempotent: false))" == verdict)
  }

  @Test func `a request that its sender finds invalid is set aside, and delays no other`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    for mutation in ["a", "b"] { _ = await outbox.outcome(mutation) }
    let sending = try Outbox<String, String>(
      folder: folder.url, partition: "account", isIdempotent: { _ in true }
    ) { mutation, _ in
      mutation == "a" ? .error(RequestError(.invalidRequest, "No name.")) : .just("did \(mutation)")
    }
    let report = await sending.flush()
    #expect(report.sent.map(\.mutation) == ["b"])
    #expect(report.error == nil)
    #expect(try sending.contents() == ["[a]"])
  }

  @Test func `R1: a mutation that was rejected for its token waits, though the token could not be refreshed`()
    async throws
  {
    let transport = ScriptedTransport()
    transport.always(.any, .json("{}", status: 401))
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in .error(RequestError(.connectionLost, "Reset.")) }
    let client = try APIClient(
      baseURL: try #require(URL(string: "https://h.invalid")), transport: transport,
      middlewares: [AuthMiddleware(provider)])
    struct Rename: APISession { typealias ResponseType = NoContent }
    let outbox = try Outbox<String, NoContent>(
      folder: folder.url, partition: "account", isIdempotent: { _ in false }
    ) { _, _ in Rename().post(on: client) }
    let error = await #expect(throws: OutboxError.self) { try await outbox.submit("a").value }
    guard case .queued? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    let entries = try outbox.entries()
    #expect(entries.count == 1)
    #expect(entries.allSatisfy { $0.attempts == 0 && $0.isWaiting })
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [#"{"like":true}"#, #"{"like":null}"#])
  func `R1: a mutation whose response has data beside the refusal of its token is not sent again`(data: String)
    async throws
  {
    struct Like: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let like: Bool }
      static let query: GraphQLDocument = "mutation like { like }"
    }
    let error = #"{"message":"audit","extensions":{"code":"UNAUTHENTICATED"}}"#
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"data":\#(data),"errors":[\#(error)]}"#))
    let client = try APIClient(baseURL: try #require(URL(string: "https://h.invalid")), transport: transport)
    let outbox = try Outbox<String, GraphQLResponse<Like.ResponseData>>(
      folder: folder.url, partition: "account", isIdempotent: { _ in false }
    ) { _, _ in Like().post(on: client) }
    let failure = await #expect(throws: RequestError.self) { try await outbox.submit("a").value }
    #expect(failure?.reached == .maybe)
    await outbox.flush()
    #expect(transport.requests.count == 1)
    // As a normalised store sends it.
    let schema = RecordSchema()
    let normalized = await #expect(throws: RequestError.self) {
      try await Like().post(on: client, for: schema).value
    }
    #expect(normalized?.reached == .maybe)
  }

  @Test(arguments: [(["like"], false, 2), (["like", "by"], false, 1), (["like", "by"], true, 2)])
  func `R1: a mutation that an error inside its result shows to be carried out is resent only if it is idempotent`(
    path: [String], isIdempotent: Bool, sendings: Int
  ) async throws {
    let error = GraphQLError(
      message: "Who?", path: path.map { .key($0) }, extensions: ["code": .string("UNAUTHENTICATED")])
    server.set(.fails(RequestError(.graphQL, "Who?", cause: GraphQLErrors([error]))))
    let outbox = try folder.outbox(server, isIdempotent: isIdempotent)
    _ = await outbox.outcome("a")
    await outbox.lastTurn()
    let entries = try outbox.entries()
    #expect(entries.allSatisfy { $0.attempts == 0 && $0.isWaiting })
    #expect(entries.count == sendings - 1)
    server.set(.answers)
    await outbox.flush()
    #expect(server.received.count == sendings)
  }

  @Test func `a mutation that cannot be made into a request is set aside, and delays no other`() async throws {
    struct Rename: APISession {
      typealias ResponseType = NoContent
      let path: String
    }
    let client = try APIClient(baseURL: try #require(URL(string: "https://h.invalid")))
    let isAway = Mutable(true)
    let outbox = try Outbox<String, NoContent>(
      folder: folder.url, partition: "account", isIdempotent: { _ in true }
    ) { path, _ in
      if isAway.value { return .error(RequestError(.cannotConnect, "Refused.")) }
      return path == "path" ? .just(NoContent()) : Rename(path: path).post(on: client)
    }
    for mutation in ["path", "no path", "path"] { _ = try? await outbox.submit(mutation).value }
    isAway.update { $0 = false }
    let report = await outbox.flush()
    #expect(report.sent.map(\.mutation) == ["path", "path"])
    #expect(report.refused.map(\.mutation) == ["no path"])
    #expect(report.error == nil)
  }

  @Test func `a mutation that was set aside waits again when it is retried, and is sent once`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server, isIdempotent: false)
    _ = await outbox.outcome("a")
    server.set(.losesAnswers)
    await outbox.flush()
    let changes = Recorder(outbox.changes)
    let entry = try #require(try outbox.entries().first)
    #expect(try outbox.retry(id: entry.id))
    #expect(try outbox.contents() == ["a"])
    #expect(try !outbox.retry(id: entry.id))
    #expect(try !outbox.retry(id: "other"))
    server.set(.answers)
    #expect(await outbox.flush().sent.map(\.id) == [entry.id])
    #expect(server.received == ["a", "a"])
    #expect(Set(server.keys).count == 1)
    #expect(changes.take().map(\.name) == ["added", "sent"])
  }

  @Test func `R1: a mutation that two callers retry at once keeps its attempt, so that it is not sent twice`()
    async throws
  {
    server.set(.isAway)
    let files = FaultyFileSystem()
    let outbox = try folder.outbox(server, isIdempotent: false, fileSystem: files)
    _ = await outbox.outcome("a")
    server.set(.losesAnswers)
    let entry = try #require(await outbox.flush().refused.first)
    let other = try folder.outbox(server, isIdempotent: false)
    let isRetried = Mutable(false)
    files.beforeLock {
      isRetried.update { $0 = (try? other.retry(id: entry.id)) == true }
      // An attempt begins.
      guard var sent = try? other.entries().first else { return }
      sent.attempts = 1
      _ = try? other.folder.replace(sent)
    }
    #expect(try !outbox.retry(id: entry.id))
    #expect(isRetried.value)
    #expect(try outbox.entries().first?.attempts == 1)
  }

  @Test func `a mutation that was set aside here, and retried by another process, is sent`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    server.set(.fails(no))
    let entry = try #require(await outbox.flush().refused.first)
    #expect(try folder.outbox(server).retry(id: entry.id))
    let changes = Recorder(outbox.changes)
    server.set(.answers)
    #expect(await outbox.flush().sent.map(\.id) == [entry.id])
    #expect(changes.take().map(\.name) == ["added", "sent"])
  }

  @Test func `a mutation that is retried before all watchers know that it was set aside is shown`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    let changes = Recorder(outbox.changes)
    outbox.reportRefusal(of: try #require(try outbox.entries().first), no)
    await outbox.added()
    #expect(changes.take().map(\.name) == ["added", "refused", "added"])
    #expect(Recorder(outbox.changes).take().map(\.name) == ["added"])
  }

  @Test func `a proxy's page in place of a response is waited out, unless resending might do harm`() async throws {
    let page = OutboxServer.Mood.fails(RequestError(.undecodable, "<html>", status: 200))
    server.set(page)
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    #expect(await outbox.outcome("a") == "queued: not decodable")
    server.set(.answers)
    scheduler.advance(by: .seconds(2))
    #expect(await outbox.flush().sent.map(\.mutation) == ["a"])
    #expect(Set(server.keys).count == 1)
    server.set(page)
    #expect(await (try folder.outbox(server, partition: "other", isIdempotent: false)).outcome("b") == "not decodable")
    #expect(server.received == ["a", "a", "b"])
  }
}
