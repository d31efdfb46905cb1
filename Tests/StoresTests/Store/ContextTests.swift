import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("contexts of reads")
struct ContextTests {
  private struct Token: Hashable, Sendable {
    var text: String
  }

  private let server = FakeServer<String, String>()

  private func context(_ token: String?, trace: Int = 0) -> ReadContext {
    var context = token.map { ReadContext(identity: Token(text: $0)) } ?? ReadContext()
    context[Token.self] = token.map { Token(text: $0) }
    context[Int.self] = trace
    return context
  }

  /// The requested key is followed by what the context carries.
  private func store() -> Store<String, String> {
    Store(
      .ofPartial { key, context in
        server.fetch("\(key) \(context[Token.self]?.text ?? "-") \(context[Int.self] ?? -1)")
      })
  }

  @Test func `O5: reads share a request if the identities of their contexts are equal`() {
    let store = store()
    let reads = [context("A", trace: 1), context("B"), context("A", trace: 2), context(nil), ReadContext()].map {
      Recorder(store.get("k", .networkOnly, context: $0))
    }
    #expect(server.requests.value.map(\.key) == ["k A 1", "k B 0", "k - 0"])
    server[0].answer("a")
    server[1].answer("b")
    server[2].answer("none")
    #expect(
      reads.map { $0.brief() } == [
        ["a network …"], ["b network …"], ["a network …"], ["none network"], ["none network"],
      ])
    // It is no part of the key.
    #expect(Recorder(store.get("k", context: context("C"))).brief() == ["none memory"])
  }

  @Test func `the response to an older request of another identity does not replace a newer one`() {
    let store = store()
    let (old, new) = (
      Recorder(store.get("k", .networkOnly, context: context("A"))),
      Recorder(store.get("k", .networkOnly, context: context("B")))
    )
    let watcher = Recorder(store.stream("k", .cacheOnly))
    server[1].answer("newer")
    server[0].answer("older")
    #expect(old.brief() == ["older network"])
    #expect(new.brief() == ["newer network …"])
    #expect(store.peek("k")?.value == "newer")
    #expect(watcher.brief() == ["- …", "newer network …", "newer memory"])
  }

  @Test func `a request is cancelled when the last reader of its identity leaves`() {
    let store = store()
    let a = Recorder(store.get("k", .networkOnly, context: context("A")))
    let b = Recorder(store.get("k", .networkOnly, context: context("B")))
    a.dispose()
    #expect(server[0].isCancelled.value)
    #expect(!server[1].isCancelled.value)
    server[1].answer("b")
    #expect(b.brief() == ["b network"])
  }

  @Test func `a watcher's requests carry its context`() {
    let store = store()
    let stream = Recorder(store.stream("k", .cacheFirst, context: context("A", trace: 1)))
    server[0].answer("1")
    store.invalidate("k")
    #expect(server.requests.value.map(\.key) == ["k A 1", "k A 1"])
    #expect(stream.take().count == 3)
  }

  @Test func `async code is cancelled when nobody waits for it any more`() async throws {
    let events = FakeServer<String, Int>()
    let store = Store<String, Int> { key in try await events.fetch(key).value.value }
    let read = Recorder(store.get("k", .networkOnly))
    try await events.wait(forCount: 1)
    read.dispose()
    let deadline = ContinuousClock.now + .seconds(10)
    while !events[0].isCancelled.value, .now < deadline { await Task.yield() }
    #expect(events[0].isCancelled.value)
  }
}
