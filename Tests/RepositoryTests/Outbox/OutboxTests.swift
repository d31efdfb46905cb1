import BFFOperations
import Foundation
import HTTP
import Networking
import Streams
import Testing

@testable import Repository

@Suite struct OutboxTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let no = RequestError(.graphQL, "No.")

  @Test func `what the server takes is answered, and leaves nothing behind`() async throws {
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "did a")
    #expect(try outbox.contents() == [])
    #expect(folder.files.allSatisfy { $0.hasSuffix("/lock") || $0.hasSuffix("/sending") })
    #expect(server.received == ["a"] && UUID(uuidString: server.keys[0]) != nil)
  }

  @Test func `nothing is put in before somebody subscribes`() throws {
    let outbox = try folder.outbox(server)
    _ = outbox.submit("a")
    #expect(try outbox.contents() == [] && server.received == [])
  }

  @Test func `without a server mutations wait in their order, also in later processes, and are sent once`() async throws
  {
    server.set(.isAway)
    var outbox = try folder.outbox(server)
    for mutation in ["a", "b", "c"] { #expect(await outbox.outcome(mutation) == "queued: cannot connect") }
    let keys = try outbox.entries().map(\.id)
    outbox = try folder.outbox(server)
    #expect(try outbox.contents() == ["a", "b", "c"])
    let waiting = try await outbox.flushed()
    #expect(waiting.sent.isEmpty && (waiting.error as? RequestError)?.kind == .cannotConnect)
    server.set(.answers)
    let report = try await outbox.flushed()
    #expect(report.sent.map(\.mutation) == ["a", "b", "c"] && report.error == nil && report.refused.isEmpty)
    #expect(server.received == ["a", "b", "c"] && server.keys == keys && Set(keys).count == 3)
    #expect(try outbox.contents() == [])
    #expect(try await outbox.flushed().sent.isEmpty)
  }

  @Test func `a new mutation goes behind those that wait`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    server.set(.answers)
    #expect(await outbox.outcome("b") == "did b")
    #expect(server.received == ["a", "b"])
  }

  @Test func `what may have reached the server is repeated under its own key alone`() async throws {
    server.set(.losesAnswers)
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "queued: connection lost")
    server.set(.answers)
    try await outbox.flushed()
    #expect(server.received == ["a", "a"] && Set(server.keys).count == 1)
  }

  @Test func `R1: what is not idempotent, and may have reached the server, is told and never sent again`() async throws
  {
    server.set(.losesAnswers)
    let outbox = try folder.outbox(server, isIdempotent: false)
    #expect(await outbox.outcome("a") == "connection lost")
    #expect(try outbox.contents() == [])
    server.set(.isAway)
    #expect(await outbox.outcome("b") == "queued: cannot connect")
    server.set(.losesAnswers)
    #expect(try await outbox.flushed().refused.map(\.mutation) == ["b"])
    server.set(.answers)
    try await outbox.flushed()
    #expect(server.received == ["a", "b"])
    #expect(try outbox.contents() == ["[b]"])
  }

  @Test func `R1: what is not idempotent waits as long as it was not sent for certain`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server, isIdempotent: false)
    _ = await outbox.outcome("a")
    for _ in 0..<10 { try await outbox.flushed() }
    server.set(.answers)
    #expect(try await outbox.flushed().sent.count == 1)
  }

  @Test func `R1: an attempt that the end of a process cut off is not repeated unless idempotent`() async throws {
    for isIdempotent in [true, false] {
      let folder = TemporaryFolder()
      let files = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
      var entry = try files.append("a", id: "key", now: .now())
      entry.attempts = 1
      try files.update(entry)
      let outbox = try folder.outbox(server, isIdempotent: isIdempotent)
      let report = try await outbox.flushed()
      #expect(report.sent.map(\.id) == (isIdempotent ? ["key"] : []))
      #expect(report.refused.map(\.id) == (isIdempotent ? [] : ["key"]))
    }
    #expect(server.keys == ["key"])
  }

  @Test func `what the server refuses is told to the one who waits, and not kept`() async throws {
    server.set(.fails(no))
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "GraphQL")
    #expect(try outbox.contents() == [])
  }

  @Test func `what the server refuses later is reported, set aside, and not retried; the rest goes on`() async throws {
    server.set(.isAway)
    var outbox = try folder.outbox(server)
    for mutation in ["a", "b"] { _ = await outbox.outcome(mutation) }
    let changes = Recorder(outbox.changes)
    server.set(.fails(no))
    let report = try await outbox.flushed()
    #expect(report.refused.map(\.mutation) == ["a", "b"] && report.error == nil)
    #expect(report.refused.first?.refusal == "GraphQL: No.")
    let refusals = changes.take().compactMap { change -> String? in
      if case .refused(let entry, let error) = change { "\(entry.mutation) \(error)" } else { nil }
    }
    #expect(refusals == ["a GraphQL: No.", "b GraphQL: No."])
    outbox = try folder.outbox(server)
    server.set(.answers)
    #expect(try await outbox.flushed().sent.isEmpty)
    #expect(server.received == ["a", "b"])
    #expect(try outbox.contents() == ["[a]", "[b]"])
    for entry in try outbox.entries() { try outbox.discard(entry) }
    #expect(try outbox.contents() == [])
  }

  @Test func `what fails eight times in the server is set aside, and holds up nothing any more`() async throws {
    server.set(.fails(RequestError(.httpStatus, "Oops.", status: 500)))
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "queued: HTTP status")
    for _ in 0..<7 { try await outbox.flushed() }
    #expect(try outbox.contents() == ["[a]"])
    #expect(server.received.count == 8 && Set(server.keys).count == 1)
    server.set(.answers)
    #expect(await outbox.outcome("b") == "did b")
  }

  @Test(arguments: [
    RequestError(.httpStatus, "Who?", status: 401), RequestError(.insecure, "Not the server."),
    RequestError(.redirectRefused, "Sign in to the network."),
  ])
  func `what asks for something else first is told, or else waits`(error: RequestError) async throws {
    let outbox = try folder.outbox(server)
    server.set(.isAway)
    _ = await outbox.outcome("a")
    server.set(.fails(error))
    #expect(await outbox.outcome("b") == "\(error.kind)")
    #expect((try await outbox.flushed().error as? RequestError)?.kind == error.kind)
    #expect(try outbox.contents() == ["a"])
    server.set(.answers)
    #expect(try await outbox.flushed().sent.map(\.mutation) == ["a"])
  }

  @Test(arguments: [
    (RequestError(.cannotConnect, ""), "notSent"), (RequestError(.circuitOpen, ""), "notSent"),
    (RequestError(.overloaded, ""), "notSent"), (RequestError(.timedOut, ""), "mayHaveBeenSent"),
    (RequestError(.connectionLost, ""), "mayHaveBeenSent"), (RequestError(.badResponse, ""), "mayHaveBeenSent"),
    (RequestError(.httpStatus, "", status: 503), "mayHaveBeenSent"),
    (RequestError(.httpStatus, "", status: 429), "mayHaveBeenSent"),
    (RequestError(.httpStatus, "", status: 400), "refused"), (RequestError(.httpStatus, "", status: 403), "refused"),
    (RequestError(.httpStatus, "", status: 401), "blocked"), (RequestError(.graphQL, ""), "refused"),
    (RequestError(.graphQL, "", status: 401), "blocked"), (RequestError(.unknown, "", status: 401), "blocked"),
    (RequestError(.undecodable, ""), "mayHaveBeenSent"), (RequestError(.unknown, ""), "refused"),
    (RequestError(.invalidRequest, ""), "refused"),
  ])
  func `each kind of failure has its meaning`(error: RequestError, verdict: String) {
    #expect("\(OutboxVerdict(error))" == verdict)
  }

  @Test func `disposing says that nobody waits: the mutation is sent all the same, or set aside`() async throws {
    let outbox = try folder.outbox(server)
    let files = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    for (mood, left) in [(OutboxServer.Mood.answers, []), (.fails(no), ["[a]"])] {
      server.set(mood)
      let letOthersSend = try #require(try files.trySend())
      let submission = Recorder(outbox.submit("a"))
      submission.dispose()
      #expect(try outbox.contents() == ["a"])
      letOthersSend()
      try await outbox.flushed()
      #expect(try outbox.contents() == left)
      #expect(submission.error.value == nil && submission.take() == [])
    }
    #expect(server.received == ["a", "a"])
  }

  @Test func `what another process has sent meanwhile, or had refused, is told to the one who waits`() async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    for (refusal, outcome) in [
      (nil, "Another process has sent the change."),
      ("No.", "Another process has sent the change, and it was refused: No."),
    ] {
      let letOthersSend = try #require(try otherProcess.trySend())
      let submission = Recorder(outbox.submit("a"))
      var entry = try #require(try outbox.entries().first)
      entry.refusal = refusal
      if refusal == nil { try otherProcess.remove(entry.name) } else { try otherProcess.update(entry) }
      letOthersSend()
      try await outbox.flushed()
      #expect(submission.error.value.map { "\($0)" } == outcome)
      #expect(try outbox.contents() == [])
    }
    #expect(server.received == [])
  }

  @Test func `another process that sends, and never ends, is waited for no longer than the patience`() async throws {
    let outbox = try folder.outbox(server, patience: .milliseconds(50))
    let otherProcess = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    let letOthersSend = try #require(try otherProcess.trySend())
    #expect(try await outbox.flushed().error == nil, "Nothing waits")
    #expect(await outbox.outcome("a") == "queued: timed out")
    let error = try await outbox.flush(patience: .zero).value.error as? RequestError
    #expect(error?.kind == .timedOut && error?.cause as? OutboxError != nil)
    #expect(server.received == [])
    #expect(try outbox.contents() == ["a"])
    letOthersSend()
    #expect(try await outbox.flushed().sent.map(\.mutation) == ["a"])
  }

  @Test func `S1: signing out ends the wait for another process that sends`() async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    let letOthersSend = try #require(try otherProcess.trySend())
    let submission = Recorder(outbox.submit("a"))
    let flush = Recorder(outbox.flush())
    try outbox.close()
    while !flush.isCompleted.value { await Task.yield() }
    #expect(submission.error.value.map { "\($0)" } == "The outbox is closed.")
    letOthersSend()
  }

  @Test(arguments: [true, false])
  func `what is discarded is told to the one who waits, here and in another process`(isHere: Bool) async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    let letOthersSend = try #require(try otherProcess.trySend())
    let submission = Recorder(outbox.submit("a"))
    let other = try folder.outbox(server)
    try (isHere ? outbox : other).discard(try #require(try outbox.entries().first))
    letOthersSend()
    #expect(try await outbox.flushed().sent.isEmpty)
    #expect(submission.error.value.map { "\($0)" } == "The change was discarded.")
    #expect(try server.received == [] && outbox.contents() == [])
  }

  @Test func `where the folder is gone, the files' own error is told`() async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    let letOthersSend = try #require(try otherProcess.trySend())
    let submission = Recorder(outbox.submit("a"))
    let elsewhere = TemporaryFolder()
    try FileManager.default.moveItem(at: folder.url, to: elsewhere.url)
    #expect(try await outbox.flushed().error is FileError)
    #expect(submission.error.value is FileError)
    letOthersSend()
  }

  @Test func `R1: what is told not to be sent is taken out before another process can send it`() async throws {
    let outbox = try folder.outbox(server)
    let otherProcess = try OutboxFolder<String>(folder.url, scope: "account", fileSystem: SystemFileSystem())
    let isFree = Mutable<Bool?>(nil)
    server.set(.fails(RequestError(.insecure, "Not the server.")))
    let submission = outbox.submit("a").do(onError: { _ in
      let letOthersSend = try? otherProcess.trySend()
      isFree.update { $0 = letOthersSend != nil }
      letOthersSend?()
    })
    await #expect(throws: RequestError.self) { try await submission.value }
    #expect(isFree.value == false)
    #expect(try outbox.contents() == [])
  }

  @Test func `whoever is told that a mutation waits can ask at once for another attempt`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    let submission = Recorder(
      outbox.submit("a").do(onError: { [server] _ in
        server.set(.answers)
        outbox.flushSoon()
      }))
    while submission.error.value == nil { await Task.yield() }
    _ = await outbox.state.withLock { $0.turn }?.value
    #expect(server.received == ["a"])
  }

  @Test func `whoever waits is told, also while the outbox is closed`() throws {
    let outbox = try folder.outbox(server)
    let entry = try outbox.folder.append("a", id: "id", now: .now())
    outbox.note(entry)
    try outbox.close()
    let isTold = Mutable(false)
    outbox.forget(entry, .withdrawn(entry)) { isTold.update { $0 = true } }
    #expect(isTold.value)
    #expect(Recorder(outbox.changes).isCompleted.value, "Nothing waits in a closed outbox")
  }

  @Test func `what is sent while it is being put in is not shown afterwards`() async throws {
    let outbox = try folder.outbox(server)
    let changes = Recorder(outbox.changes)
    let id = UUID().uuidString
    // A submission between its two steps: on disk, and not told of.
    outbox.state.withLock { $0.waiters[id] = AnyObserver { _ in } }
    let entry = try outbox.folder.append("a", id: id, now: .now())
    try await outbox.flushed()
    #expect(server.received == [] && changes.take().isEmpty)
    outbox.note(entry)
    _ = await outbox.takeTurn(for: entry).value
    #expect(server.received == ["a"])
    #expect(changes.take().map(\.name) == ["added", "sent"])
  }

  @Test func `those who watch are called on no thread of the cooperative pool`() async throws {
    let outbox = try folder.outbox(server)
    let key = DispatchSpecificKey<Bool>()
    outbox.queue.setSpecific(key: key, value: true)
    let isOnQueue = Mutable<Bool?>(nil)
    let watching = outbox.changes.subscribe(onNext: { change in
      if case .sent = change { isOnQueue.update { $0 = DispatchQueue.getSpecific(key: key) ?? false } }
    })
    #expect(await outbox.outcome("a") == "did a")
    watching.dispose()
    #expect(isOnQueue.value == true)
  }

  @Test func `a page of a proxy in place of an answer is waited out, unless that might do harm`() async throws {
    let page = OutboxServer.Mood.fails(RequestError(.undecodable, "<html>", status: 200))
    server.set(page)
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "queued: not decodable")
    server.set(.answers)
    #expect(try await outbox.flushed().sent.map(\.mutation) == ["a"])
    #expect(Set(server.keys).count == 1)
    server.set(page)
    #expect(await (try folder.outbox(server, scope: "other", isIdempotent: false)).outcome("b") == "not decodable")
    #expect(server.received == ["a", "a", "b"])
  }

  @Test func `S1: scopes are apart, and signing out removes one of them alone`() async throws {
    server.set(.isAway)
    let (mine, yours) = (try folder.outbox(server, scope: "me"), try folder.outbox(server, scope: "you"))
    _ = await mine.outcome("a")
    _ = await yours.outcome("b")
    #expect(try mine.contents() == ["a"] && yours.contents() == ["b"])
    try mine.close()
    #expect(await mine.outcome("c") == "The outbox is closed.")
    server.set(.answers)
    #expect(try await folder.outbox(server, scope: "me").flushed().sent.isEmpty)
    #expect(try await yours.flushed().sent.map(\.mutation) == ["b"])
    #expect(server.received == ["b"])
  }

  @Test func `S1: signing out cancels the request under way, and tells those who wait`() async throws {
    server.set(.isSilent)
    let outbox = try folder.outbox(server)
    let submission = Recorder(outbox.submit("a"))
    let changes = Recorder(outbox.changes)
    while server.received.isEmpty { await Task.yield() }
    try outbox.close()
    #expect(submission.error.value.map { "\($0)" } == "The outbox is closed.")
    #expect(changes.isCompleted.value)
    let report = try await outbox.flushed()
    #expect(report.sent.isEmpty)
    #expect(server.state.value.cancellations == 1)
    #expect(try outbox.contents() == [] && folder.files.filter { $0.hasSuffix(".e1") } == [])
  }

  @Test func `those who watch are told what waits, and then each change`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    let changes = Recorder(outbox.changes)
    server.set(.answers)
    #expect(await outbox.outcome("b") == "did b")
    let told = changes.take().map { change in
      switch change {
      case .added(let entry): "+\(entry.mutation)"
      case .sent(let entry, let answer): "\(entry.mutation): \(answer)"
      case .refused(let entry, _): "[\(entry.mutation)]"
      case .withdrawn(let entry): "-\(entry.mutation)"
      }
    }
    #expect(told == ["+a", "+b", "a: did a", "b: did b"])
  }

  @Test func `an answer elsewhere sends what waits`() async throws {
    struct Ping: APISession { typealias ResponseType = NoContent }
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    server.set(.answers)
    let changes = Recorder(outbox.changes)
    let interceptor = OutboxInterceptor(outbox)
    _ = interceptor.intercept(Ping()) { _ in .error(RequestError(.timedOut, "Late.")) }.subscribe(onError: { _ in })
    #expect(server.received == [])
    _ = interceptor.intercept(Ping()) { _ in .just(NoContent()) }.subscribe()
    // After the turn that the answer has asked for.
    #expect(try await outbox.flushed().sent.isEmpty)
    #expect(changes.take().map(\.name) == ["added", "sent"])
  }
}

extension OutboxChange {
  fileprivate var name: String {
    switch self {
    case .added: "added"
    case .sent: "sent"
    case .refused: "refused"
    case .withdrawn: "withdrawn"
    }
  }
}
