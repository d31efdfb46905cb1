import Foundation
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

/// What becomes of the work of a store over an asynchronous source of truth when another one signs the account out.
@Suite(.timeLimit(.minutes(1))) struct SharedSignOutTests {
  private let shared = SharedTruth.Server()
  private let account = "\(UUID())"

  private func store() -> Store<String, String> {
    Store(.ofStream { _ in .never() }, storage: .async(SharedTruth(shared, identity: account)))
  }

  /// Saves a value without waiting for the source.
  private func save(_ value: String, for key: String = "k", in store: Store<String, String>?) {
    store?.save(value, for: key)
  }

  @Test(arguments: [false, true])
  func `S1: a write that is not done when another store signs out is not made again, even if its store was closed`(
    isClosed: Bool
  ) async throws {
    let (one, other) = (store(), store())
    shared.writeGate.hold()
    save("secret", in: other)
    try await shared.writeGate.held.wait { $0 == 1 }
    if isClosed { await other.close() }
    try await one.signOut()
    shared.writeGate.release()
    await other.flush()
    #expect(shared.value("k") == nil)
    #expect(shared.writes.value == 1)
  }

  @Test func `S1: a sign-out that has failed is tried again by the next call, which fails as long as it does`()
    async throws
  {
    let store = store()
    await store.save("secret", for: "k")
    shared.isAway = true
    await #expect(throws: SharedTruth.Away.self) { try await store.signOut() }
    await #expect(throws: SharedTruth.Away.self) { try await store.signOut() }
    shared.isAway = false
    try await store.signOut()
    #expect(shared.value("k") == nil)
  }

  @Test func `E3: who waits for a removal that the source does not end is not kept waiting`() async throws {
    let store = store()
    await store.save("secret", for: "k")
    shared.stall()
    for _ in 0..<2 {
      let error = await #expect(throws: RequestError.self) { try await store.signOut() }
      #expect(error?.kind == .timedOut)
    }
    shared.resume()
    try await store.signOut()
    #expect(shared.value("k") == nil)
  }

  @Test func `S1: a write that waits for another one of its key is not made after the sign-out of another store`()
    async throws
  {
    let (one, other) = (store(), store())
    shared.writeGate.hold()
    save("secret", in: other)
    try await shared.writeGate.held.wait { $0 == 1 }
    save("another secret", in: other)
    try await one.signOut()
    shared.writeGate.release()
    #expect(await other.flush() == nil)
    #expect(shared.value("k") == nil)
    #expect(shared.writes.value == 1)
  }

  @Test func `S1: a write that waits behind another one when its store is released is not made after a sign-out`()
    async throws
  {
    let one = store()
    var truth: SharedTruth? = SharedTruth(shared, identity: account)
    weak let kept = truth
    var other = truth.map { Store<String, String>(.ofStream { _ in .never() }, storage: .async($0)) }
    truth = nil
    shared.writeGate.hold()
    save("secret", in: other)
    try await shared.writeGate.held.wait { $0 == 1 }
    save("another secret", in: other)
    other = nil
    try await one.signOut()
    shared.writeGate.release()
    // Its queue keeps that as long as it has something to do.
    try await eventually { kept == nil }
    #expect(shared.value("k") == nil)
    #expect(shared.writes.value == 1)
  }

  @Test func `S1: a sign-out removes what a store writes whose versions are ahead of those of the others`() async throws
  {
    let ahead = EntryVersion(time: StoreTime.now().microseconds + 3_600_000_000, writer: 1)
    let seen = StoredValue("v", writtenAt: .now(), version: ahead)
    _ = try await SharedTruth(shared).write(seen, for: "seen", isResponse: false)
    let (one, other) = (store(), store())
    let read = try await other.get("seen", .cacheOnly).value
    #expect(read.value == "v")
    shared.writeGate.hold()
    save("secret", in: other)
    try await shared.writeGate.held.wait { $0 == 1 }
    try await one.signOut()
    shared.writeGate.release()
    await other.flush()
    #expect(shared.value("k") == nil)
    // The next session finds a version that is greater than its own.
    let next = store()
    save("new", in: next)
    #expect(await next.flush() == nil)
    #expect(shared.value("k")?.value == "new")
  }

  @Test func `S1: a write that has failed is not tried again after the sign-out of another store`() async throws {
    let (one, other) = (store(), store())
    shared.refused.update { $0["k"] = .max }
    await other.save("secret", for: "k")
    try await one.signOut()
    shared.refused.update { $0 = [:] }
    #expect(await other.flush() == nil)
    #expect(shared.writes.value == 1)
  }

  @Test func `S1: a removal that has failed does not remove what is written after the sign-out of another store`()
    async throws
  {
    let (one, other) = (store(), store())
    shared.isAway = true
    await #expect(throws: SharedTruth.Away.self) { try await other.clear() }
    shared.isAway = false
    try await one.signOut()
    let next = store()
    save("new", in: next)
    await next.flush()
    await other.flush()
    #expect(shared.value("k")?.value == "new")
  }

  @Test func `S1: a sign-out that has failed does not remove what the next session writes before it is tried again`()
    async throws
  {
    let one = store()
    for key in 0..<200 { await one.save("old", for: "\(key)") }
    shared.isAway = true
    await #expect(throws: SharedTruth.Away.self) { try await one.signOut() }
    shared.isAway = false
    let next = store()
    await next.save("new", for: "k")
    #expect(await next.flush() == nil)
    await one.flush()
    #expect(shared.value("k")?.value == "new")
    #expect(shared.value("0") == nil)
    #expect(shared.value("199") == nil)
    #expect(next.peek("k")?.value == "new")
  }

  @Test func `S1: the next session reads nothing of what a sign-out has still to remove, and keeps what it writes`()
    async throws
  {
    let ahead = EntryVersion(time: StoreTime.now().microseconds + 3_600_000_000, writer: 1)
    _ = try await SharedTruth(shared).write(
      StoredValue("secret", writtenAt: .now(), version: ahead), for: "seen", isResponse: false)
    let one = store()
    await one.save("secret", for: "k")
    _ = try await one.get("seen", .cacheOnly).value
    shared.isAway = true
    await #expect(throws: SharedTruth.Away.self) { try await one.signOut() }
    shared.isAway = false
    // The source works again, but nothing has been tried once more.
    let next = store()
    await #expect(throws: StoreError.notCached) { try await next.get("k", .cacheOnly).value }
    await #expect(throws: StoreError.notCached) { try await next.get("seen", .cacheOnly).value }
    await next.save("new", for: "new")
    #expect(await next.flush() == nil)
    #expect(try await store().get("new", .cacheOnly).value.value == "new")
    await one.flush()
    #expect(shared.value("k") == nil)
    #expect(shared.value("seen") == nil)
    #expect(shared.value("new")?.value == "new")
    #expect(try await store().get("new", .cacheOnly).value.value == "new")
  }

  @Test(arguments: ["sign-out", "removal"])
  func `S1: what the next session writes during a removal of everything is not removed by it`(removal: String)
    async throws
  {
    let (one, other) = (store(), store())
    await one.save("secret", for: "k")
    let watching = Recorder(other.stream("k", .cacheOnly))
    shared.removalGate.hold()
    let removing = Task { if removal == "sign-out" { try await one.signOut() } else { try await other.clear() } }
    try await shared.removalGate.held.wait { $0 == 1 }
    let signOut = removal == "sign-out" ? nil : Task { try await one.signOut() }
    if signOut != nil { try await watching.waitForCompletion() }
    let next = store()
    save("new", in: next)
    let read = Task { try await next.get("k", .cacheOnly).value.value }
    #expect(try await read.value == "new")
    // Beside another removal, the sign-out may have begun after the next session: then it removes value by value.
    if removal == "sign-out" { #expect(shared.value("k")?.value == "secret") }
    shared.removalGate.release()
    #expect(await next.flush() == nil)
    _ = await (removing.result, signOut?.result)
    await one.flush()
    #expect(shared.value("k")?.value == "new")
    #expect(try await store().get("k", .cacheOnly).value.value == "new")
  }

  @Test func `S1: what the next session writes during a sign-out is written after it, though its store is released`()
    async throws
  {
    let one = store()
    await one.save("secret", for: "k")
    shared.removalGate.hold()
    let signOut = Task { try await one.signOut() }
    try await shared.removalGate.held.wait { $0 == 1 }
    var next: Store<String, String>? = store()
    weak let released = next
    save("new", in: next)
    next = nil
    try await eventually { released == nil }
    shared.removalGate.release()
    try await signOut.value
    try await shared.wait { $0["k"]?.value == "new" }
  }

  @Test func `S1: the session after the next reads nothing of two sign-outs that have failed`() async throws {
    let one = store()
    await one.save("secret", for: "k")
    shared.isAway = true
    await #expect(throws: SharedTruth.Away.self) { try await one.signOut() }
    var next: Store<String, String>? = store()
    shared.isAway = false
    await next?.save("another", for: "l")
    shared.isAway = true
    await #expect(throws: SharedTruth.Away.self) { try await next?.signOut() }
    next = nil
    shared.isAway = false
    let last = store()
    for key in ["k", "l"] {
      await #expect(throws: StoreError.notCached) { try await last.get(key, .cacheOnly).value }
    }
    await last.save("new", for: "l")
    #expect(try await store().get("l", .cacheOnly).value.value == "new")
  }

  @Test func `F4: a read does not bring back what is being written while everything is to be removed`() async throws {
    let truth = SharedTruth(shared, timeLimit: .seconds(30))
    let store = Store<String, String>(.ofStream { _ in .never() }, storage: .async(truth))
    shared.writeGate.hold()
    save("old", in: store)
    try await shared.writeGate.held.wait { $0 == 1 }
    let clearing = Task { try await store.clear() }
    try await eventually { store.peek("k") == nil }
    await #expect(throws: StoreError.notCached) { try await store.get("k", .cacheOnly).value }
    shared.writeGate.release()
    try await clearing.value
    #expect(store.peek("k") == nil)
    #expect(shared.value("k") == nil)
  }

  @Test(arguments: [false, true])
  func `A2: a watcher that stalls at a sign-out keeps no other store from its end, and no other watcher`(
    isShared: Bool
  ) async throws {
    let folder = TemporaryFolder()
    func open() throws -> Store<String, String> {
      isShared ? store() : Store(.ofStream { _ in .never() }, storage: .source(try DiskCache(folder: folder.url)))
    }
    let (one, others, gate) = (try open(), try (0..<3).map { _ in try open() }, DispatchSemaphore(value: 0))
    let entered = Monitor(false)
    for other in others { save("v", in: other) }
    let stalled = others[1].stream("k", .cacheOnly).subscribe(onNext: { snapshot in
      guard snapshot.value == nil else { return }
      entered.update { $0 = true }
      gate.wait()
    })
    let watching = [one, others[0], others[2]].map { Recorder($0.stream("k", .cacheOnly)) }
    let signOut = Task { try await one.signOut() }
    try await entered.wait { $0 }
    for watch in watching { try await watch.waitForCompletion() }
    try await eventually { others.allSatisfy { $0.hasEnded } }
    gate.signal()
    try await signOut.value
    stalled.dispose()
  }
}
