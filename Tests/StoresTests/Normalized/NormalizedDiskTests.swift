import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// A normalised store on disk: what is there when a process ends. The next one finds a copy of the files.
@Suite struct NormalizedDiskTests {
  private let folder = TemporaryFolder()

  /// The store of the next process, if this one ends now.
  private func restarted(
    later: Duration = .zero, _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws -> (NormalizedWorld, TemporaryFolder) {
    let copy = try folder.copy()
    return (try NormalizedWorld(in: copy.url, later: later, change), copy)
  }

  @Test func `a response that was given is there after a restart, with its age`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let (next, copy) = try restarted(later: .seconds(60))
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
    #expect(next.store.peek(GetIssue("1"))?.age == .seconds(60))
    let get = Recorder(next.store.get(GetIssue("1"), .cacheFirst))
    #expect(get.brief() == ["1 a OPEN memory"])
    #expect(next.server.count == 0)
    withExtendedLifetime(copy) {}
  }

  @Test func `an age after a restart is that of the response, also for freshness`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let (next, copy) = try restarted(later: .seconds(60)) { $0.freshness.staleTime = .seconds(30) }
    #expect(next.store.peek(GetIssue("1"))?.isStale == true)
    withExtendedLifetime(copy) {}
  }

  @Test func `a value from before a restart is requested again when it is as old as the interval`() async throws {
    let first = try NormalizedWorld(in: folder.url)
    try await first.request(GetIssue("1"), issue("1", "a"))
    await first.store.close()
    let world = try NormalizedWorld(in: folder.url, later: .seconds(9))
    let stream = Recorder(world.store.stream(GetIssue("1"), every: .seconds(10), jitter: 0))
    #expect(stream.brief() == ["1 a OPEN memory"])
    world.time.advance(by: .milliseconds(999))
    #expect(world.server.count == 0)
    world.time.advance(by: .milliseconds(1))
    #expect(world.server.count == 1)
  }

  @Test func `what others have brought is as old as the oldest of it may be`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssuesWithIDs(), issues(("1", "a")))
    let (next, copy) = try restarted(later: .seconds(60))
    #expect(next.store.peek(OnlyIDs())?.age == .seconds(60))
    withExtendedLifetime(copy) {}
  }

  @Test func `lists, embedded objects, nulls and fields with arguments are there after a restart`() async throws {
    struct Labels: GraphQLSession {
      struct ResponseData: Codable, Hashable, Sendable {
        struct Issue: Codable, Hashable, Sendable {
          struct Author: Codable, Hashable, Sendable { var name: String? }
          struct Label: Codable, Hashable, Sendable { var text: String? }
          var author: Author?
          var labels: [Label]?
          var state: String?
        }
        var issues: [Issue]
      }
      static let query: GraphQLDocument =
        "query labels { issues(first: 3) { author { name } labels { text } state } }"
    }
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(
      Labels(),
      #"""
      {"issues": [
        {"__typename": "Issue", "id": "1", "state": "A\"\u00e9", "author": {"__typename": "User", "id": 7, "name": "u"},
         "labels": [{"__typename": "Label", "text": "x"}, {"__typename": "Label", "text": null}]},
        {"__typename": "Issue", "id": "2", "state": null, "author": null, "labels": []}
      ]}
      """#)
    let before = world.store.peek(Labels())?.value
    let (next, copy) = try restarted()
    #expect(before?.issues.count == 2)
    #expect(next.store.peek(Labels())?.value == before)
    withExtendedLifetime(copy) {}
  }

  @Test func `N8: the response of a mutation is on disk when it is given`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "A"), optimisticResponse: .init(rename: .init(id: "1", title: "?"))))
    // What is optimistic is not kept.
    let (early, earlyCopy) = try restarted()
    #expect(early.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
    world.server.last.data(renamed("1", "A"))
    try await mutation.waitForCompletion()
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 A OPEN memory")
    withExtendedLifetime((earlyCopy, copy)) {}
  }

  @Test func `N8: an edit is on disk when it returns`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    try world.store.update(GetIssue("1")) { $0.issue?.title = "edited" }
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 edited OPEN memory")
    withExtendedLifetime(copy) {}
  }

  @Test func `what lies in a layer, above an older request, is on disk`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    let slow = Recorder(world.store.get(GetIssue("9"), .networkOnly))
    try await world.request(GetIssue("1"), issue("1", "a"))
    try world.store.update(GetIssue("1")) { $0.issue?.title = "edited" }
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 edited OPEN memory")
    withExtendedLifetime((slow, copy)) {}
  }

  @Test func `an entity that was invalidated is missing after a restart`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    world.store.invalidate(EntityID("Issue", id: "1"))
    let (next, copy) = try restarted()
    #expect(next.store.missingPath(of: GetIssue("1")) == "issue.__typename")
    withExtendedLifetime(copy) {}
  }

  @Test func `an operation that was invalidated is out of date after a restart, until its response comes`() async throws
  {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    try world.store.invalidate(GetIssue("1"))
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.isStale == true)
    try await next.request(GetIssue("1"), issue("1", "b"))
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 b OPEN memory")
    withExtendedLifetime(copy) {}
  }

  @Test func `what a server has forbidden is missing after a restart`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "secret"))
    let refused = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.answer("{}", status: 403)
    try await refused.waitForEnd()
    let (next, copy) = try restarted()
    #expect(next.store.missingPath(of: GetIssue("1")) == "issue")
    #expect(next.store.peek(GetIssue("1")) == nil)
    withExtendedLifetime(copy) {}
  }

  @Test(.timeLimit(.minutes(1)))
  func `what a server has forbidden is removed from disk also where memory has dropped it`() async throws {
    let world = try NormalizedWorld(in: folder.url) { $0.memoryCount = 0 }
    try await world.request(GetIssue("1"), issue("1", "secret"))
    // The thread that has called back lets go of what was read a moment later.
    while world.store.missingPath(of: GetIssue("1")) != "issue" {
      try Task.checkCancellation()
      world.store.collect()
      await Task.yield()
    }
    let refused = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.answer("{}", status: 403)
    try await refused.waitForEnd()
    let (next, copy) = try restarted()
    #expect(next.store.missingPath(of: GetIssue("1")) == "issue")
    withExtendedLifetime(copy) {}
  }

  @Test func `after a 401 everything stays hidden, also after a restart, until a request succeeds`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "secret"))
    let refused = Recorder(world.store.get(GetIssue("2"), .networkOnly))
    world.server.last.answer("{}", status: 401)
    try await refused.waitForEnd()
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.value == nil)
    try await next.request(GetIssue("2"), issue("2", "b"))
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 secret OPEN memory")
    let again = try copy.copy()
    await next.store.close()
    let last = try NormalizedWorld(in: again.url)
    #expect(last.store.peek(GetIssue("1"))?.brief == "1 secret OPEN memory")
  }

  @Test func `clearing removes the file, and a response that was requested before is not written`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let late = Recorder(world.store.get(GetIssue("2"), .networkOnly))
    try await world.store.clear()
    #expect(folder.journal == nil)
    world.server.last.data(issue("2", "late"))
    try await late.waitForCompletion()
    #expect(folder.journal == nil)
    try await world.request(GetIssue("3"), issue("3", "c"))
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1")) == nil)
    #expect(next.store.peek(GetIssue("3"))?.brief == "3 c OPEN memory")
    withExtendedLifetime(copy) {}
  }

  @Test func `N7: a sign-out removes the file, and nothing late is written`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let late = Recorder(world.store.mutate(RenameIssue("1", "late")))
    try await world.store.signOut()
    #expect(folder.files.map { $0.split(separator: "/").last } == ["lock"])
    world.server.last.data(renamed("1", "late"))
    try await late.waitForEnd()
    try world.store.receive(["issue": ["id": "1", "title": "late", "state": "OPEN"]], of: GetIssue("1"))
    #expect(folder.files.map { $0.split(separator: "/").last } == ["lock"])
    // The folder is free for the next account.
    let next = try NormalizedWorld(in: folder.url)
    #expect(next.store.peek(GetIssue("1")) == nil)
  }

  @Test func `a sign-out after a store was closed removes the file, too`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    await world.store.close()
    #expect(folder.journal != nil)
    try await world.store.signOut()
    #expect(folder.journal == nil)
  }

  @Test func `a folder is open in one store at a time`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    #expect(throws: NormalizedStorageError.alreadyOpen) { try NormalizedWorld(in: folder.url) }
    try await world.request(GetIssue("1"), issue("1", "a"))
    await world.store.close()
    let next = try NormalizedWorld(in: folder.url)
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
  }

  @Test func `records of types that had other keys are not taken`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    await world.store.close()
    var schema = try RecordSchema(NormalizedWorld.schema)
    schema.keyFields["Issue"] = ["title"]
    let next = try NormalizedWorld(in: folder.url, schema: schema)
    #expect(next.store.peek(GetIssue("1")) == nil)
    #expect(next.store.missingPath(of: GetIssue("1")) == "issue")
  }

  @Test func `a store that writes behind has written when flush returns`() async throws {
    let world = try NormalizedWorld(in: folder.url) { $0.writing = .behind }
    let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.data(issue("1", "a"))
    #expect(get.isCompleted.value)
    try await world.store.flush()
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
    withExtendedLifetime(copy) {}
  }

  @Test(.timeLimit(.minutes(1)))
  func `what changes while a store that writes behind is writing is written, too`() async throws {
    let (files, isWriting, goOn) = (FaultyFileSystem(), Monitor(false), DispatchSemaphore(value: 0))
    let world = try NormalizedWorld(in: folder.url, fileSystem: files) { $0.writing = .behind }
    files.fail("write", number: 0, .shortWrite)
    files.onFault {
      isWriting.update { $0 = true }
      goOn.wait()
    }
    try world.store.receive(["issue": ["id": "1", "title": "a", "state": "OPEN"]], of: GetIssue("1"))
    try await isWriting.wait { $0 }
    try world.store.update(GetIssue("1")) { $0.issue?.title = "b" }
    goOn.signal()
    var written: Data { folder.journal.flatMap { try? Data(contentsOf: $0) } ?? Data() }
    while written.range(of: Data(#""b""#.utf8)) == nil {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test func `a file that changes again and again stays small`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    try await world.request(GetIssue("1"), issue("1", "a"))
    let text = String(repeating: "x", count: 20_000)
    for number in 0..<100 {
      try world.store.update(GetIssue("1")) { $0.issue?.title = "\(number) \(text)" }
    }
    let file = try #require(folder.journal)
    #expect(try Data(contentsOf: file).count < 400_000)
    let (next, copy) = try restarted()
    #expect(next.store.peek(GetIssue("1"))?.value?.issue?.title == "99 \(text)")
    withExtendedLifetime(copy) {}
  }
}
