import StoresTestSupport
import Streams
import Testing

@testable import Stores

/// Changes whose answers are no values of the store that shows them.
@Suite struct ForeignChangeTests {
  private let server = FakeServer<String, Int>()
  private let truth = MemoryTruth<String, [String]>()
  private let store: Store<String, [String]>

  init() {
    store = Store(.ofStream { _ in .never() }, storage: .source(truth))
    for key in ["k", "l", "other"] { store.save([key], for: key) }
  }

  /// Adds to all values but the one of `other`.
  private func change() -> Recorder<Int> {
    Recorder(
      store.mutate(
        .ofAll { key, value in key == "other" ? nil : value + ["b"] },
        send: { [server] in server.fetch("change").map(\.value) }))
  }

  @Test func `a change that is shown at once is cached once the server has accepted it`() {
    let watch = Recorder(store.stream("k", .cacheOnly))
    let change = change()
    #expect(watch.brief() == [#"["k"] memory"#, #"["k", "b"] optimistic"#])
    server[0].answer(7)
    #expect(change.take() == [7])
    #expect(change.isCompleted.value)
    #expect(watch.take().last?.brief == #"["k", "b"] memory"#)
    #expect(["k", "l", "other"].map { truth.read($0)?.value } == [["k", "b"], ["l", "b"], ["other"]])
  }

  @Test func `a value that was requested after the change began may have it already, and is requested again`() throws {
    let reads = FakeServer<String, [String]>()
    let store = Store<String, [String]>(.ofStream { reads.fetch($0).map(\.value) })
    store.save(["k"], for: "k")
    let watch = Recorder(store.stream("k", .cacheFirst))
    let change = Recorder(
      store.mutate(.ofAll { _, value in value + ["b"] }) { [server] in server.fetch("change").map(\.value) })
    let read = Recorder(store.get("k", .networkOnly))
    reads[0].answer(["k", "b"])
    #expect(read.isCompleted.value)
    #expect(watch.take().last?.isFetching == false)
    server[0].answer(7)
    try #require(change.take() == [7] && reads.count == 2 && watch.take().last?.isFetching == true)
    reads[1].answer(["k", "b"])
    #expect(watch.take().last?.value == ["k", "b"])
    #expect(store.peek("k")?.isStale == false)
  }

  @Test func `a failure, or disposing, takes it back`() {
    let failing = change()
    server[0].fail()
    #expect(failing.error.value is Failure)
    #expect(store.peek("k")?.value == ["k"])
    let disposed = change()
    #expect(store.peek("l")?.value == ["l", "b"])
    disposed.dispose()
    #expect(server[1].isCancelled.value)
    #expect(store.peek("l")?.value == ["l"])
  }

  @Test func `a change fails after signing out, and is not cached`() async throws {
    let change = change()
    try await store.signOut()
    server[0].answer(7)
    #expect(change.error.value as? StoreError == .signedOut)
    #expect(truth.keys() == [])
  }

  @Test func `a change fails, too, if a watcher signs out when it is cached`() {
    let isDue = Mutable(false)
    let watch = store.stream("k", .cacheOnly).subscribe(onNext: { [store] snapshot in
      if isDue.value, snapshot.source == .memory { store.perform { $0.signOut { _ in } } }
    })
    let change = change()
    isDue.update { $0 = true }
    server[0].answer(7)
    #expect(change.error.value as? StoreError == .signedOut)
    watch.dispose()
  }

  @Test func `one change can be shown in two stores`() {
    let numbers = Store<String, Int>(.ofStream { _ in .never() })
    numbers.save(1, for: "n")
    let change = Recorder(
      store.mutate(.ofAll { _, value in value + ["b"] }) { [server] in
        numbers.mutate(.of("n") { $0.map { $0 + 1 } }) { server.fetch("change").map(\.value) }
      })
    #expect(store.peek("k")?.value == ["k", "b"])
    #expect(numbers.peek("n")?.value == 2)
    server[0].answer(5)
    #expect(change.take() == [5])
    #expect(store.peek("k")?.source == .memory)
    #expect(numbers.peek("n")?.value == 5)
  }

  @Test func `a change that waits in an outbox of other responses is shown, and cached when it is sent`() async throws {
    let (folder, server) = (TemporaryFolder(), OutboxServer())
    let outbox = try folder.outbox(server)
    store.show(outbox) { mutation in .ofAll { key, value in key == "k" ? value + [mutation] : nil } }
    server.set(.isAway)
    #expect(await outbox.outcome("a1") == "queued: cannot connect")
    #expect(store.peek("k")?.value == ["k", "a1"])
    #expect(store.peek("k")?.source == .optimistic)
    server.set(.answers)
    await outbox.flush()
    #expect(store.peek("k")?.value == ["k", "a1"])
    #expect(store.peek("k")?.source == .memory)
    #expect(truth.read("k")?.value == ["k", "a1"])
    #expect(store.peek("l")?.value == ["l"])
  }
}
