import Dispatch
import HTTPClientCore
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

/// What an observer, a submitter or a store's watcher that never returns costs an outbox and everybody else.
@Suite(.timeLimit(.minutes(1))) struct StalledObserverTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let gate = DispatchSemaphore(value: 0)

  enum Ending: CaseIterable { case discarding, closing, signingOut }

  @Test func `E1: an observer of an outbox's changes that stalls stops itself alone, and misses nothing`() async throws
  {
    let outbox = try folder.outbox(server)
    let (seen, entered) = (Monitor([String]()), Mutable(false))
    let stalled = outbox.changes.subscribe(onNext: { [gate] change in
      if !entered.update({ exchange(&$0, with: true) }) { gate.wait() }
      seen.update { $0.append(change.brief) }
    })
    let other = Recorder(outbox.changes)
    for mutation in ["a", "b", "c"] { #expect(await outbox.outcome(mutation) == "did \(mutation)") }
    await outbox.flush()
    let all = ["+a", "did a", "+b", "did b", "+c", "did c"]
    #expect(other.take().map(\.brief) == all)
    await outbox.close()
    #expect(other.isCompleted.value)
    #expect(seen.value == [])
    gate.signal()
    #expect(try await seen.wait { $0.count == 6 } == all)
    stalled.dispose()
  }

  @Test(arguments: Ending.allCases)
  func `an entry that is discarded, or whose outbox ends, before a store shows it is not sent`(
    ending: Ending
  ) async throws {
    let outbox = try folder.outbox(server)
    let entered = Monitor(false)
    let stalled = outbox.changes.subscribe(onNext: { [gate] _ in
      if !entered.update({ exchange(&$0, with: true) }) { gate.wait() }
    })
    let store = Store<String, String>(.ofStream { _ in .never() })
    store.show(outbox) { _ in .ofAll(keyForResponse: { _ in "k" }) { _, _ in nil } }
    let submission = Recorder(outbox.submit("a"))
    try await entered.wait { $0 }
    // The turn has come so far that it waits for those that are notified.
    for _ in 0..<50 { await outbox.onQueue {} }
    switch ending {
    case .discarding: for entry in try outbox.entries() { try outbox.discard(entry) }
    case .closing: await outbox.close()
    case .signingOut: try await outbox.signOut()
    }
    await outbox.lastTurn()
    #expect(server.received == [])
    try await submission.waitForEnd()
    gate.signal()
    stalled.dispose()
  }

  @Test(arguments: [true, false]) func `E1: a submitter that stalls stops no other one`(isSuccess: Bool) async throws {
    let outbox = try folder.outbox(server)
    if !isSuccess { server.set(.isAway) }
    let entered = Monitor(0)
    let stall: @Sendable () -> Void = { [gate] in
      entered.update { $0 += 1 }
      gate.wait()
    }
    let stalled = ["a", "b"].map { outbox.submit($0).subscribe(onNext: { _ in stall() }, onError: { _ in stall() }) }
    try await entered.wait { $0 == 2 }
    #expect(await outbox.outcome("c") == (isSuccess ? "did c" : "queued: cannot connect"))
    await outbox.flush()
    try await outbox.signOut()
    for _ in stalled { gate.signal() }
    for submission in stalled { submission.dispose() }
  }

  @Test func `E1: a submitter that stalls at a sign-out does not keep it from removing everything`() async throws {
    let outbox = try folder.outbox(server)
    server.set(.isSilent)
    let stalled = outbox.submit("a").subscribe(onError: { [gate] _ in gate.wait() })
    try await server.state.wait { $0.received == ["a"] }
    let other = Recorder(outbox.submit("b"))
    try await outbox.signOut()
    #expect(other.error.value as? OutboxError == .signedOut)
    #expect(folder.files.filter { $0.hasSuffix(".e1") } == [])
    gate.signal()
    stalled.dispose()
  }

  @Test func `E1: a watcher that stalls in a store which shows an outbox stops neither the outbox nor the store`()
    async throws
  {
    let outbox = try folder.outbox(server)
    let (truth, seen) = (MemoryTruth<String, String>(), Monitor([String?]()))
    let stores = [
      Store<String, String>(.ofStream { _ in .never() }, storage: .source(truth)), Store(.ofStream { _ in .never() }),
    ]
    for store in stores {
      await store.save("v", for: "k")
      store.show(outbox) { mutation in .ofAll(keyForResponse: { _ in "k" }) { _, value in "\(value) \(mutation)" } }
    }
    let entered = Mutable(false)
    let stalled = stores[0].stream("k", .cacheOnly).subscribe(onNext: { [gate] snapshot in
      if snapshot.value == "v a", !entered.update({ exchange(&$0, with: true) }) { gate.wait() }
    })
    let watching = stores.map { store in
      store.stream("k", .cacheOnly).subscribe(onNext: { snapshot in seen.update { $0.append(snapshot.value) } })
    }
    let changes = Recorder(outbox.changes)
    #expect(await outbox.outcome("a") == "did a")
    #expect(await outbox.outcome("b") == "did b")
    #expect(truth.read("k")?.value == "did b")
    await outbox.flush()
    #expect(changes.take().map(\.brief) == ["+a", "did a", "+b", "did b"])
    try await seen.wait { values in values.count { $0 == "did b" } == 2 }
    await outbox.close()
    #expect(changes.isCompleted.value)
    gate.signal()
    for subscription in [stalled] + watching { subscription.dispose() }
  }
}

extension OutboxChange<String, String> {
  /// `+` what waits, `-` what no longer does, or the response.
  fileprivate var brief: String {
    switch self {
    case .added(let entry): "+\(entry.mutation)"
    case .sent(_, let response): response
    case .refused(let entry, _), .withdrawn(let entry): "-\(entry.mutation)"
    }
  }
}
