import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import Testing

/// A mutation that the server refuses has the effects of a refused read.
@Suite struct MutationRefusalTests {
  private let truth = MemoryTruth<String, String>()
  private let store: Store<String, String>

  init() {
    store = Store(.ofStream { _ in .never() }, storage: .source(truth))
    for key in ["k", "l"] { store.save(key, for: key) }
  }

  private func mutate(_ status: Int) -> Recorder<String> {
    Recorder(
      store.mutate(.of("k") { $0.map { $0 + "!" } }) { .error(RequestError(.httpStatus, "", status: status)) })
  }

  @Test func `S1: after a 401, all values are hidden, and kept`() async throws {
    let watch = Recorder(store.stream("l", .cacheOnly))
    let change = mutate(401)
    try await change.waitForEnd()
    #expect(change.error.value != nil)
    #expect(store.peek("k") == nil)
    #expect(store.peek("l") == nil)
    #expect(watch.take().last?.value == nil)
    #expect(truth.read("l")?.value == "l")
  }

  @Test func `S1: after a 403, the value of the key is removed`() async throws {
    try await mutate(403).waitForEnd()
    #expect(store.peek("k") == nil)
    #expect(truth.read("k") == nil)
    #expect(store.peek("l")?.value == "l")
  }

  @Test func `any other failure removes nothing`() async throws {
    for status in [400, 500] { try await mutate(status).waitForEnd() }
    #expect(store.peek("k")?.value == "k")
    #expect(store.peek("l")?.value == "l")
  }

  @Test func `S1: a mutation of all values hides them after a 401, and removes none after a 403`() async throws {
    for (status, isShown) in [(403, true), (401, false)] {
      let change = Recorder(
        store.mutate(.ofAll { _, value in value + "!" }) {
          Observable<Int>.error(RequestError(.httpStatus, "", status: status))
        })
      try await change.waitForEnd()
      #expect((store.peek("k") != nil) == isShown)
    }
  }
}
