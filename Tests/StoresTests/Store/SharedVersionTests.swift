import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

/// What one process changes in a shared source of truth, and another has to see, or must not see again.
@Suite(.timeLimit(.minutes(1))) struct SharedVersionTests {
  let shared = SharedTruth.Server()
  let network = FakeServer<String, String>()
  let time = TestScheduler()

  func makeStore(_ change: (inout StoreConfiguration<String>) -> Void = { _ in }) -> Store<String, String> {
    var configuration = StoreConfiguration<String>()
    change(&configuration)
    return Store(
      .ofPartial { [network] key in network.fetch(key) }, storage: .async(SharedTruth(shared)),
      configuration: configuration)
  }

  /// Saves a value without waiting for the source.
  private func save(_ value: String, in store: Store<String, String>?) { store?.save(value, for: "k") }

  /// What a watcher of the cache alone has got, and the value that it got last.
  private func watch(_ store: Store<String, String>, _ key: String) -> (seen: Monitor<[String]>, bag: DisposeBag) {
    let (seen, bag) = (Monitor([String]()), DisposeBag())
    store.stream(key, .cacheOnly).subscribe(onNext: { snapshot in seen.update { $0.append(snapshot.brief) } })
      .disposed(by: bag)
    return (seen, bag)
  }

  @Test(arguments: ["update", "receive", "mutate", "mutateAll", "foreign mutateAll"])
  func `F1: what one store changes, the watchers of another see`(call: String) async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("v", for: "k")
    let (seen, bag) = watch(other, "k")
    try await seen.wait { $0.last?.hasPrefix("v ") == true }
    _ = try await one.get("k").value
    switch call {
    case "update": await one.update("k") { $0 += "!" }
    case "receive": await one.receive("k") { $0 + "!" }
    case "mutate": _ = try await one.mutate(.of("k") { _ in "v!" }, send: { .just("v!") }).value
    case "mutateAll":
      _ = try await one.mutate(
        .ofAll(keyForResponse: { _ in "r" }) { key, value in key == "k" ? value + "!" : nil }, send: { .just("r") }
      ).value
    default: _ = try await one.mutate(.ofAll { _, value in value + "!" }, send: { .just(7) }).value
    }
    #expect(shared.value("k")?.value == "v!", "It is there when it is reported")
    try await seen.wait { $0.last?.hasPrefix("v! ") == true }
    bag.dispose()
  }

  @Test func `F1: an invalidation is seen elsewhere, and keeps the value`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("v", for: "k")
    let (seen, bag) = watch(other, "k")
    try await seen.wait { $0.last?.hasPrefix("v ") == true }
    await one.invalidate("k")
    try await seen.wait { $0.last == "v disk ~" }
    bag.dispose()
  }

  @Test func `F1: a late report of an earlier write does not bring it back, though the later one has failed`()
    async throws
  {
    let store = makeStore { $0.clock = .scheduler(time) }
    await store.save("1", for: "k")
    let (seen, bag) = watch(store, "k")
    shared.refused.update { $0["k"] = 2 }
    await store.save("2", for: "k")
    #expect(shared.value("k")?.value == "1")
    shared.report(.key("k"))
    await store.flush()
    shared.report(.key("k"))
    await store.flush()
    try await shared.wait { $0["k"]?.value == "2" }
    #expect(seen.value.map { $0.prefix(1) } == ["1", "2"])
    bag.dispose()
  }

  @Test func `F1: what is saved last stays, though its store is released and has not seen what is there`() async throws
  {
    let ahead = EntryVersion(time: StoreTime.now().microseconds + 3_600_000_000, writer: 1)
    _ = try await SharedTruth(shared).write(
      StoredValue("old", writtenAt: .now(), version: ahead), for: "k", isResponse: false)
    var store: Store<String, String>? = makeStore()
    shared.writeGate.hold()
    save("new", in: store)
    try await shared.writeGate.held.wait { $0 == 1 }
    weak let released = store
    store = nil
    try await eventually { released == nil }
    shared.writeGate.release()
    try await shared.wait { $0["k"]?.value == "new" }
  }

  @Test func `F1: what was removed elsewhere during the first load is not shown for good`() async throws {
    let (one, other) = (makeStore(), makeStore())
    await one.save("old", for: "k")
    shared.readGate.hold()
    let (seen, bag) = watch(other, "k")
    try await shared.readGate.held.wait { $0 == 1 }
    await one.remove("k")
    shared.readGate.release()
    try await seen.wait { $0.last == "-" }
    _ = try? await other.get("k", .cacheOnly).value
    #expect(seen.value.last == "-")
    #expect(other.peek("k") == nil)
    bag.dispose()
  }

  @Test(arguments: [true, false])
  func `a value that expires here stays in the source`(byAccess: Bool) async throws {
    let one = makeStore {
      $0.clock = .scheduler(time)
      if byAccess {
        $0.freshness.expireAfterAccess = .seconds(10)
      } else {
        $0.freshness.expireAfterWrite = .seconds(10)
      }
    }
    let other = makeStore { $0.clock = .scheduler(time) }
    await one.save("old", for: "k")
    time.advance(by: .seconds(11))
    shared.refused.update { $0["k"] = 0 }
    await other.save("new", for: "k")
    #expect(one.peek("k")?.value != "old")
    _ = try? await one.get("k", .cacheOnly).value
    await one.flush()
    #expect(shared.value("k")?.value == "new")
  }

  @Test func `an invalidation that came after a response is not lost when the source drops that`() async throws {
    let (one, other) = (makeStore(), makeStore { $0.writing = .behind })
    await one.save("theirs", for: "k")
    let read = Recorder(other.get("k", .networkOnly))
    shared.dropsResponses.update { $0 = true }
    shared.stall()
    await other.save("busy", for: "other")
    network[0].answer("response")
    await other.invalidate("k")
    shared.resume()
    try await read.waitForCompletion()
    await other.flush()
    try await shared.wait { $0["k"]?.value == "theirs" && $0["k"]?.isInvalidated == true }
  }

  @Test func `F2: all that was written in an outage reaches the source, however little memory holds`() async throws {
    let store = makeStore { $0.memoryCount = 10 }
    shared.isAway = true
    for number in 0..<25 { await store.save("\(number)", for: "\(number)") }
    shared.comeBack()
    try await shared.wait { values in (0..<25).allSatisfy { values["\($0)"]?.value == "\($0)" } }
  }

  @Test func `F2: invalidations, removals and refusals during an outage reach other processes`() async throws {
    let (one, other) = (makeStore(), makeStore())
    for key in ["invalidated", "removed", "refused"] { await one.save("v", for: key) }
    shared.isAway = true
    await one.invalidate("invalidated")
    await one.remove("removed")
    let read = Recorder(one.fresh("refused"))
    try await network.wait(forCount: 1)
    network[0].fail(RequestError(.httpStatus, "", status: 403))
    try await read.waitForEnd()
    shared.comeBack()
    try await shared.wait {
      $0["invalidated"]?.isInvalidated == true && $0["removed"] == nil && $0["refused"] == nil
    }
    #expect(try await other.get("invalidated", .cacheOnly).value.isStale)
  }

  @Test func `F2: a write that the source refuses once is tried again after a pause, though it was never away`()
    async throws
  {
    let store = makeStore { $0.clock = .scheduler(time) }
    shared.refused.update { $0["k"] = 3 }
    await store.save("v", for: "k")
    #expect(shared.value("k") == nil)
    // Each pause begins with the end of an attempt, on whichever thread.
    while shared.value("k") == nil {
      time.advance(by: .seconds(30))
      await Task.yield()
    }
    #expect(shared.value("k")?.value == "v")
  }

  @Test func `F1: a store whose clock is behind still replaces what it has not seen`() async throws {
    let one = makeStore()
    let ahead = EntryVersion(time: StoreTime.now().microseconds + 3_600_000_000, writer: 5)
    let other = SharedTruth(shared)
    _ = try await other.write(
      StoredValue("theirs", writtenAt: .now(), version: ahead), for: "k", isResponse: false)
    await one.save("mine", for: "k")
    #expect(shared.value("k")?.value == "mine")
    #expect(one.peek("k")?.value == "mine")
    await one.remove("k")
    #expect(shared.value("k") == nil)
  }

  @Test func `F1: an outdated write does not replace, after an outage, what others have written meanwhile`()
    async throws
  {
    let (one, other) = (makeStore(), makeStore())
    let (seen, bag) = watch(one, "k")
    shared.refused.update { $0["k"] = 1 }
    await one.save("old", for: "k")
    await other.save("new", for: "k")
    await one.flush()
    try await seen.wait { $0.last?.hasPrefix("new") == true }
    #expect(shared.value("k")?.value == "new")
    bag.dispose()
  }
}

/// What was requested before a removal does not undo it.
@Suite(.timeLimit(.minutes(1))) struct RemovalInFlightTests {
  let shared = SharedTruth.Server()
  let network = FakeServer<String, String>()
  let truth = MemoryTruth<String, String>()

  private func store(isShared: Bool) -> Store<String, String> {
    let fetch: @Sendable (String, ReadContext) -> Observable<Fetched<String>> = { [network] key, _ in network.fetch(key)
    }
    return isShared
      ? Store(.ofPartial(fetch), storage: .async(SharedTruth(shared)))
      : Store(.ofPartial(fetch), storage: .source(truth))
  }

  private func kept(_ isShared: Bool) -> String? { isShared ? shared.value("k")?.value : truth.read("k")?.value }

  @Test(arguments: ["remove", "clear", "refusal", "mutation"], [false, true])
  func `a response that was requested before does not bring the value back`(call: String, isShared: Bool) async throws {
    let store = store(isShared: isShared)
    await store.save("old", for: "k")
    let watch = Recorder(store.stream("k", .cacheOnly))
    let read = Recorder(store.get("k", .networkOnly, context: ReadContext(identity: 1)))
    try await network.wait(forCount: 1)
    switch call {
    case "remove": await store.remove("k")
    case "clear": try await store.clear()
    case "mutation":
      let change = Recorder(
        store.mutate(.of("k") { _ in "changed" }) {
          .error(RequestError(.httpStatus, "", status: 403))
        })
      try await change.waitForEnd()
    default:
      let refused = Recorder(store.get("k", .networkOnly, context: ReadContext(identity: 2)))
      try await network.wait(forCount: 2)
      network[1].fail(RequestError(.httpStatus, "", status: 403))
      try await refused.waitForEnd()
    }
    network[0].answer("old again")
    try await read.waitForCompletion()
    await store.flush()
    #expect(read.elements.value.map(\.value) == ["old again"], "Its reader gets it")
    #expect(watch.elements.value.last?.value == nil)
    #expect(store.peek("k") == nil)
    #expect(kept(isShared) == nil)
  }

  @Test func `a removal that a shared source reports counts like one here`() async throws {
    let (store, other) = (store(isShared: true), store(isShared: true))
    await store.save("old", for: "k")
    let states = Monitor("")
    let watch = store.stream("k", .cacheOnly).subscribe(onNext: { snapshot in states.update { $0 = snapshot.brief } })
    let read = Recorder(store.get("k", .networkOnly))
    try await network.wait(forCount: 1)
    await other.remove("k")
    try await states.wait { $0.hasPrefix("-") }
    network[0].answer("old again")
    try await read.waitForCompletion()
    await store.flush()
    #expect(store.peek("k") == nil)
    #expect(shared.value("k") == nil)
    watch.dispose()
  }

  @Test func `those who wait for a value that is removed meanwhile get what the server has then`() async throws {
    let store = store(isShared: false)
    let watch = Recorder(store.stream("k"))
    await store.remove("k")
    network[0].answer("before")
    try await network.wait(forCount: 2)
    #expect(watch.elements.value.allSatisfy { $0.value == nil })
    network[1].answer("after")
    #expect(watch.elements.value.last?.value == "after")
  }
}
