import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Mutations that wait in an outbox, on top of a normalised store.
@Suite(.timeLimit(.minutes(1))) struct NormalizedOutboxTests {
  private struct Rename: Codable, Sendable {
    let id: String
    let title: String
  }
  private typealias Renames = Outbox<Rename, NormalizedResponse<RenameIssue.ResponseData>>

  private let folder = TemporaryFolder()

  private func outbox(_ world: NormalizedWorld, isAlone: Bool = true) throws -> Renames {
    let (client, schema) = (world.store.client, try RecordSchema(NormalizedWorld.schema))
    return try Outbox(
      folder: folder.url.appending(path: "outbox"), partition: "account", lockTimeout: .seconds(60), clock: .system,
      fileSystem: SystemFileSystem(), isAlone: isAlone, isIdempotent: { _ in true }
    ) { rename, _ in
      RenameIssue(rename.id, rename.title).post(on: client, for: schema)
    }
  }

  private func show(_ outbox: Renames, in world: NormalizedWorld) {
    world.store.show(outbox) { rename in
      .of(
        RenameIssue(rename.id, rename.title),
        optimisticResponse: ["rename": ["id": .string(rename.id), "title": .string(rename.title)]])
    }
  }

  private func restarted(_ old: NormalizedWorld) async throws -> NormalizedWorld {
    await old.store.close()
    return try NormalizedWorld(in: folder.url.appending(path: "store"))
  }

  @Test func `N10: a mutation that waits shows on top, and the response takes its place`() async throws {
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(world)
    show(outbox, in: world)
    let shown = Monitor<[String]>([])
    let watching = world.store.stream(GetIssue("1"), .cacheOnly).subscribe(onNext: { snapshot in
      shown.update { $0.append(snapshot.brief) }
    })
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await shown.wait { $0.last == "1 waits OPEN optimistic" }
    let requests = world.server.requests
    try await eventually { requests.value.count >= 2 }
    #expect(world.server.last.document.contains("__typename"))
    world.server.last.data(renamed("1", "sent"))
    try await submission.waitForCompletion()
    #expect(submission.take().first?.data.rename?.title == "sent")
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 sent OPEN memory")
    let next = try await restarted(world)
    #expect(next.store.peek(GetIssue("1"))?.brief == "1 sent OPEN memory")
    watching.dispose()
    await outbox.close()
  }

  @Test func `N4: an entry is sent once the store shows it, also if an observer stalls`() async throws {
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(world)
    let gate = DispatchSemaphore(value: 0)
    let stalling = outbox.changes.subscribe(onNext: { _ in gate.wait() })
    defer {
      stalling.dispose()
      for _ in 0..<3 { gate.signal() }
    }
    show(outbox, in: world)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 2)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 waits OPEN optimistic")
    // An edit during it leaves in doubt what the server has last.
    try world.store.update(GetIssue("1")) { $0.issue?.title = "edited" }
    world.server.last.data(renamed("1", "waits"))
    try await submission.waitForCompletion()
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 waits OPEN memory ~")
    for _ in 0..<3 { gate.signal() }
    await outbox.close()
  }

  @Test func `N10: what waits shows after a restart, also over what is requested meanwhile`() async throws {
    let first = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try await first.request(GetIssue("1"), issue("1", "a"))
    let waiting = try outbox(first)
    let submission = Recorder(waiting.submit(Rename(id: "1", title: "waits")))
    try await first.server.wait(for: 2)
    first.server.last.observer.onError(RequestError(.cannotConnect, "There is no network."))
    try await submission.waitForEnd()
    await waiting.close()

    let world = try await restarted(first)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
    let outbox = try outbox(world)
    show(outbox, in: world)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 waits OPEN optimistic")
    let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.data(issue("1", "b", "CLOSED"))
    try await get.waitForCompletion()
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 waits CLOSED optimistic")

    async let report = outbox.flush(evenDuringPause: true)
    try await world.server.wait(for: 2)
    world.server.last.data(renamed("1", "sent"))
    #expect(await report.sent.count == 1)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 sent CLOSED memory")
    await outbox.close()
  }

  @Test func `N10: what another process has sent is shown at once in the place of what has waited`() async throws {
    let records = SharedRecords()
    let worlds = try (0..<2).map { _ in
      let storage = records.opened()
      storage.setDeaf(true)
      return try NormalizedWorld(sharing: storage)
    }
    let (first, second) = (worlds[0], worlds[1])
    try await first.request(GetIssue("1"), issue("1", "a"))
    let sender = try outbox(first, isAlone: false)
    show(sender, in: first)
    let submission = Recorder(sender.submit(Rename(id: "1", title: "waits")))
    try await first.server.wait(for: 2)
    first.server.last.observer.onError(RequestError(.cannotConnect, "There is no network."))
    try await submission.waitForEnd()
    let other = try outbox(second, isAlone: false)
    show(other, in: second)
    let watcher = Recorder(second.store.stream(GetIssue("1"), .cacheOnly))
    #expect(watcher.brief() == ["1 waits OPEN optimistic"])
    async let report = sender.flush(evenDuringPause: true)
    try await first.server.wait(for: 3)
    first.server.last.data(renamed("1", "sent"))
    #expect(await report.sent.count == 1)
    await other.flush(evenDuringPause: true)
    #expect(watcher.brief() == ["1 sent OPEN memory"])
    await sender.close()
    await other.close()
  }

  @Test func `an entry that was sent is removed also if its response cannot be written, which is tried again`()
    async throws
  {
    let (files, errors) = (FaultyFileSystem(), Mutable(0))
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"), fileSystem: files) {
      $0.onStorageError = { _ in errors.update { $0 += 1 } }
    }
    try await world.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(world)
    show(outbox, in: world)
    files.setFull(true)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "b")))
    try await world.server.wait(for: 2)
    world.server.last.data(renamed("1", "b"))
    try await submission.waitForCompletion()
    #expect(try outbox.entries().isEmpty)
    #expect(errors.value == 1)
    #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == "b")
    files.setFull(false)
    world.time.advance(by: .seconds(1))
    try await eventually { () -> Bool in
      // What is copied while it is replaced may be nothing.
      guard let copy = try? folder.copy() else { return false }
      let next = try? NormalizedWorld(in: copy.url.appending(path: "store"))
      return next?.store.peek(GetIssue("1"))?.value?.issue?.title == "b"
    }
    await outbox.close()
  }

  @Test(arguments: ["push", "same push", "mutation", "edit", "query", "other field", "nothing"])
  func `N4: the response to what has waited is in doubt if the server may have changed the same after it`(by: String)
    async throws
  {
    let world = try NormalizedWorld()
    try await world.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(world)
    show(outbox, in: world)
    let watcher = Recorder(world.store.stream(GetIssue("1"), .cacheOnly))
    let first = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 2)
    let sending = world.server.last
    // It may be sent before it is shown.
    try await eventually { world.store.peek(GetIssue("1"))?.value?.issue?.title == "waits" }
    switch by {
    case "push", "same push":
      let title = by == "push" ? "pushed" : "sent"
      try world.store.receive(
        ["issue": ["__typename": "Issue", "id": "1", "title": .string(title), "state": "OPEN"]], of: GetIssue("1"))
    case "mutation":
      let mutation = Recorder(world.store.mutate(RenameIssue("1", "later")))
      world.server.last.data(renamed("1", "later"))
      try await mutation.waitForCompletion()
    case "edit": #expect(try world.store.update(GetIssue("1")) { $0.issue?.title = "edited" })
    case "query": try await world.request(GetIssue("1"), issue("1", "queried"))
    case "other field": #expect(try world.store.update(GetIssue("1")) { $0.issue?.state = "CLOSED" })
    default: break
    }
    sending.data(renamed("1", "sent"))
    try await first.waitForCompletion()
    let isDoubted = ["push", "mutation", "edit"].contains(by)
    #expect(world.store.peek(GetIssue("1"))?.value?.issue?.title == "sent")
    #expect(world.store.peek(GetIssue("1"))?.isStale == isDoubted)
    #expect(watcher.take().last?.isStale == isDoubted)
    // What waited behind it is in order.
    try await world.request(GetIssue("1"), issue("1", "sent"))
    let count = world.server.count
    let second = Recorder(outbox.submit(Rename(id: "1", title: "b")))
    let third = Recorder(outbox.submit(Rename(id: "1", title: "c")))
    try await world.server.wait(for: count + 1)
    world.server.last.data(renamed("1", "b"))
    try await second.waitForCompletion()
    try await world.server.wait(for: count + 2)
    world.server.last.data(renamed("1", "c"))
    try await third.waitForCompletion()
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 c OPEN memory")
    await outbox.close()
  }

  @Test func `N4: so it is if another process has changed the same meanwhile`() async throws {
    let records = SharedRecords()
    let (first, second) = (
      try NormalizedWorld(sharing: records.opened()), try NormalizedWorld(sharing: records.opened())
    )
    try await first.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(first)
    show(outbox, in: first)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await first.server.wait(for: 2)
    let watchers = [first, second].map { Recorder($0.store.stream(GetIssue("1"), .cacheOnly)) }
    let mutation = Recorder(second.store.mutate(RenameIssue("1", "other")))
    second.server.last.data(renamed("1", "other"))
    try await mutation.waitForCompletion()
    try first.store.takeOthers()
    first.server.last.data(renamed("1", "sent"))
    try await submission.waitForCompletion()
    for watcher in watchers {
      try await eventually { watcher.elements.value.last?.brief == "1 sent OPEN memory ~" }
    }
    await outbox.close()
  }

  @Test func `what waits shows also on what is requested after everything was removed, until it is sent`() async throws
  {
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    let outbox = try outbox(world)
    show(outbox, in: world)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 1)
    world.server.last.observer.onError(RequestError(.cannotConnect, "There is no network."))
    try await submission.waitForEnd()
    for _ in 0..<2 {
      try await world.store.clear()
      try await world.request(GetIssue("1"), issue("1", "a"))
      #expect(world.store.peek(GetIssue("1"))?.brief == "1 waits OPEN optimistic")
    }
    let count = world.server.count
    async let report = outbox.flush(evenDuringPause: true)
    try await eventually { world.server.count != count }
    world.server.last.data(renamed("1", "sent"))
    #expect(await report.sent.count == 1)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 sent OPEN memory")
    await outbox.close()
  }

  @Test func `what waits is shown also if everything is removed while its change is made`() async throws {
    let world = try NormalizedWorld()
    let outbox = try outbox(world)
    let store = world.store
    let isFirst = Mutable(true)
    store.show(outbox) { rename in
      if isFirst.value {
        isFirst.update { $0 = false }
        // What `clear()` does before it waits.
        store.records.withLock { $0.removeAll(now: store.store.clock.now) }
        store.store.perform { $0.removeAll(then: { _ in }) }
      }
      return .of(
        RenameIssue(rename.id, rename.title),
        optimisticResponse: ["rename": ["id": .string(rename.id), "title": .string(rename.title)]])
    }
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 1)
    world.server.last.observer.onError(RequestError(.cannotConnect, "There is no network."))
    try await submission.waitForEnd()
    try await world.request(GetIssue("1"), issue("1", "a"))
    #expect(store.peek(GetIssue("1"))?.brief == "1 waits OPEN optimistic")
    await outbox.close()
  }

  @Test(arguments: ["removed", "refused to a query", "refused to a mutation"])
  func `what waits is shown again at once after everything was removed`(reason: String) async throws {
    struct Title: Codable, Sendable {
      static let fragment: GraphQLDocument = "fragment title on Issue { id title }"
      var title: String?
    }
    let world = try NormalizedWorld { $0.effectOfFailure = { $0.isForbidden ? .removeAll : .keep } }
    let outbox = try outbox(world)
    show(outbox, in: world)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 1)
    world.server.last.observer.onError(RequestError(.cannotConnect, "There is no network."))
    try await submission.waitForEnd()
    let entity = EntityID("Issue", id: "1")
    let titles = Recorder(world.store.values(Title.self, Title.fragment, of: entity).map(\.title))
    #expect(titles.take() == ["waits"])
    var kept: [Any] = []
    switch reason {
    case "removed": try await world.store.clear()
    case "refused to a query":
      kept.append(Recorder(world.store.get(GetIssue("2"), .networkOnly)))
      world.server.last.answer("{}", status: 403)
    default:
      kept.append(Recorder(world.store.mutate(RenameIssue("2", "b"))))
      world.server.last.answer("{}", status: 403)
    }
    let key = NormalizedKey(FragmentSource<Title>(document: Title.fragment, entity: entity))
    #expect(world.store.store.state.withLock { $0.held(key)?.value.isOptimistic } == true)
    #expect(world.store.peek(Title.self, Title.fragment, of: entity)?.value?.title == "waits")
    await outbox.close()
  }

  @Test func `a mutation that the server refuses is no longer shown`() async throws {
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(world)
    show(outbox, in: world)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 2)
    world.server.last.answer(#"{"errors": [{"message": "No."}]}"#)
    try await submission.waitForEnd()
    await outbox.close()
    #expect(submission.error.value != nil)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
  }

  @Test func `what a refusal of the account has hidden shows again when the entry is sent`() async throws {
    let world = try NormalizedWorld()
    try world.store.receive(["issue": ["id": "1", "title": "a", "state": "OPEN"]], of: GetIssue("1"))
    let outbox = try outbox(world)
    show(outbox, in: world)
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await world.server.wait(for: 1)
    world.server.last.answer("{}", status: 401)
    try await submission.waitForEnd()
    try await eventually { world.store.peek(GetIssue("1"))?.value == nil }
    async let report = outbox.flush(evenDuringPause: true)
    try await world.server.wait(for: 2)
    world.server.last.data(renamed("1", "sent"))
    #expect(await report.sent.count == 1)
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 sent OPEN memory")
    await outbox.close()
  }

  @Test func `nothing is shown of a mutation whose closure throws`() async throws {
    struct Refusal: Error {}
    let isCalled = Monitor(false)
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try world.store.receive(["issue": ["id": "1", "title": "a", "state": "OPEN"]], of: GetIssue("1"))
    let outbox = try outbox(world)
    world.store.show(outbox) { rename in
      .of(RenameIssue(rename.id, rename.title), optimisticResponse: ["rename": ["id": "1", "title": "waits"]]) { _, _ in
        isCalled.update { $0 = true }
        throw Refusal()
      }
    }
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await isCalled.wait { $0 }
    // What was shown of it before that is removed.
    try await eventually { world.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory" }
    try await world.server.wait(for: 1)
    world.server.last.data(renamed("1", "sent"))
    try await submission.waitForCompletion()
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 sent OPEN memory")
    await outbox.close()
  }

  @Test func `what waits is no longer shown when that is disposed`() async throws {
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let outbox = try outbox(world)
    let showing = world.store.show(outbox) { rename in
      .of(RenameIssue(rename.id, rename.title), optimisticResponse: ["rename": ["id": "1", "title": "waits"]])
    }
    let submission = Recorder(outbox.submit(Rename(id: "1", title: "waits")))
    try await eventually { world.store.peek(GetIssue("1"))?.brief == "1 waits OPEN optimistic" }
    showing.dispose()
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 a OPEN memory")
    try await world.server.wait(for: 2)
    world.server.last.fail()
    try await submission.waitForEnd()
    await outbox.close()
  }

  @Test func `closures are not called again where all that waits is no longer shown`() async throws {
    let world = try NormalizedWorld(in: folder.url.appending(path: "store"))
    try await world.request(GetIssuesWithIDs(), issues(("1", "a")))
    let (outbox, calls) = (try outbox(world), Mutable(0))
    let showing = world.store.show(outbox) { rename in
      let shown: JSONValue = ["rename": ["id": .string(rename.id), "title": "w"]]
      return .of(RenameIssue(rename.id, rename.title), optimisticResponse: shown) { _, edits in
        calls.update { $0 += 1 }
        try edits.update(GetIssuesWithIDs()) { $0.issues.append(.init(id: rename.id, title: "w")) }
      }
    }
    let submissions = (2..<7).map { Recorder(outbox.submit(Rename(id: "\($0)", title: "w"))) }
    try await eventually { world.store.peek(GetIssuesWithIDs())?.value?.issues.count == 6 }
    let before = calls.value
    showing.dispose()
    #expect(world.store.peek(GetIssuesWithIDs())?.brief == "1:a memory")
    #expect(calls.value == before)
    try await world.server.wait(for: 2)
    world.server.last.fail()
    await outbox.close()
    withExtendedLifetime(submissions) {}
  }
}
