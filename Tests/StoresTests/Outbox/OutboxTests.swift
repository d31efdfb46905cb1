import BFFOperations
import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import Stores

@Suite struct OutboxTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  @Test func `a mutation that the server accepts gives its response, and leaves nothing behind`() async throws {
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "did a")
    #expect(try outbox.contents() == [])
    #expect(folder.files.allSatisfy { $0.hasSuffix("/lock") || $0.hasSuffix("/sending") })
    #expect(server.received == ["a"])
    #expect(UUID(uuidString: server.keys[0]) != nil)
  }

  @Test func `a mutation is queued when it is subscribed to, and not before`() throws {
    let outbox = try folder.outbox(server)
    _ = outbox.submit("a")
    #expect(try outbox.contents() == [])
    #expect(server.received == [])
  }

  @Test func `mutations without a server wait in their order, also in later processes, and are sent once`() async throws
  {
    server.set(.isAway)
    var outbox = try folder.outbox(server)
    for mutation in ["a", "b", "c"] { #expect(await outbox.outcome(mutation) == "queued: cannot connect") }
    let keys = try outbox.entries().map(\.id)
    outbox = try folder.outbox(server)
    #expect(try outbox.contents() == ["a", "b", "c"])
    let waiting = await outbox.flush()
    #expect(waiting.sent.isEmpty)
    #expect((waiting.error as? RequestError)?.kind == .cannotConnect)
    server.set(.answers)
    let report = await outbox.flush()
    #expect(report.sent.map(\.mutation) == ["a", "b", "c"])
    #expect(report.error == nil)
    #expect(report.refused.isEmpty)
    #expect(server.received == ["a", "b", "c"])
    #expect(server.keys == keys)
    #expect(Set(keys).count == 3)
    #expect(try outbox.contents() == [])
    #expect(await outbox.flush().sent.isEmpty)
  }

  @Test func `a member that a mutation left out is still left out in a later process, and null is still null`()
    async throws
  {
    struct Rename: Codable, Equatable, Sendable {
      var name: GraphQLNullable<String> = .absent
      var title: GraphQLNullable<String> = .absent
    }
    let mutations = [Rename(), Rename(name: .null, title: "t"), Rename(title: .null)]
    let open = { [folder] in
      try Outbox<Rename, String>(folder: folder.url, partition: "account", isIdempotent: { _ in true }) { _, _ in
        .error(RequestError(.cannotConnect, "Refused."))
      }
    }
    let outbox = try open()
    for mutation in mutations {
      await #expect(throws: OutboxError.self) { _ = try await outbox.submit(mutation).value }
    }
    await outbox.close()
    #expect(try open().entries().map(\.mutation) == mutations)
  }

  @Test func `a new mutation is queued behind those that wait`() async throws {
    server.set(.isAway)
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    server.set(.answers)
    #expect(await outbox.outcome("b") == "did b")
    #expect(server.received == ["a", "b"])
  }

  @Test(arguments: [false, true])
  func `a new mutation is not sent before watchers are notified of it`(isKnown: Bool) async throws {
    let outbox = try folder.outbox(server)
    let changes = Recorder(outbox.changes)
    // A submission between its steps: on disk, maybe known, and not told of. Nobody need wait for its answer any more.
    let id = UUID().uuidString
    outbox.state.withLock { _ = $0.arriving.insert(id) }
    let entry = try outbox.folder.append("a", id: id, now: .now())
    if isKnown { outbox.state.withLock { _ = $0.known.replace(entry.name, with: entry) } }
    await outbox.flush()
    #expect(server.received == [])
    #expect(changes.take().isEmpty)
    if isKnown { outbox.publisher.report(.added(entry)) } else { outbox.note(entry) }
    outbox.endArrival(of: entry)
    outbox.joinTurn(for: entry)
    await outbox.lastTurn()
    #expect(server.received == ["a"])
    #expect(changes.take().map(\.name) == ["added", "sent"])
  }

  @Test func `a mutation that is discarded while it is being queued does not wait for ever`() throws {
    let outbox = try folder.outbox(server)
    let id = UUID().uuidString
    outbox.state.withLock { _ = $0.arriving.insert(id) }
    let entry = try outbox.folder.append("a", id: id, now: .now())
    outbox.state.withLock { _ = $0.known.replace(entry.name, with: entry) }
    try outbox.discard(entry)
    outbox.publisher.report(.added(entry))
    outbox.endArrival(of: entry)
    #expect(Recorder(outbox.changes).take().isEmpty)
  }

  @Test func `S1: partitions are apart, and signing out removes one of them alone`() async throws {
    server.set(.isAway)
    let (mine, yours) = (try folder.outbox(server, partition: "me"), try folder.outbox(server, partition: "you"))
    _ = await mine.outcome("a")
    _ = await yours.outcome("b")
    #expect(try mine.contents() == ["a"])
    #expect(try yours.contents() == ["b"])
    try await mine.signOut()
    #expect(await mine.outcome("c") == "The outbox's account was signed out.")
    server.set(.answers)
    #expect(try await folder.outbox(server, partition: "me").flush().sent.isEmpty)
    #expect(await yours.flush().sent.map(\.mutation) == ["b"])
    #expect(server.received == ["b"])
  }

  @Test func `S1: signing out cancels the current request, and fails those that wait`() async throws {
    server.set(.isSilent)
    let outbox = try folder.outbox(server)
    let submission = Recorder(outbox.submit("a"))
    let changes = Recorder(outbox.changes)
    try await server.state.wait { !$0.received.isEmpty }
    try await outbox.signOut()
    #expect(submission.error.value.map { "\($0)" } == "The outbox's account was signed out.")
    #expect(changes.isCompleted.value)
    let report = await outbox.flush()
    #expect(report.sent.isEmpty)
    #expect(server.state.value.cancellations == 1)
    #expect(try outbox.contents() == [])
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
  }

  @Test func `watchers receive what waits, and then each change`() async throws {
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

  @Test func `a response elsewhere sends the mutations that wait`() async throws {
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
    await outbox.lastTurn()
    #expect(server.received == ["a"])
    #expect(changes.take().map(\.name) == ["added", "sent"])
  }
}

extension OutboxChange {
  var name: String {
    switch self {
    case .added: "added"
    case .sent: "sent"
    case .refused: "refused"
    case .withdrawn: "withdrawn"
    }
  }
}
