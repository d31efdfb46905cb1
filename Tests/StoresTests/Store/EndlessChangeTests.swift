import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

/// What waits behind a change that an asynchronous source of truth does not end, though it was cancelled.
@Suite(.timeLimit(.minutes(1))) struct EndlessChangeTests {
  private let shared = SharedTruth.Server()
  private let network = FakeServer<String, String>()

  private func store() -> Store<String, String> {
    Store(.ofPartial { [network] key in network.fetch(key) }, storage: .async(SharedTruth(shared)))
  }

  /// Waits until the source has everything, however slow the machine is: one call ends when the source has taken nothing
  /// for twice its limit.
  private func flush(_ store: Store<String, String>) async { while await store.flush() != nil {} }

  @Test func `E3: a write of the same key is waited for no longer than the limit, and made later`() async throws {
    let store = store()
    shared.stall()
    await store.save("1", for: "k")
    await store.save("2", for: "k")
    await store.invalidate("k")
    shared.resume()
    await flush(store)
    #expect(shared.value("k")?.value == "2")
    #expect(shared.value("k")?.isInvalidated == true)
  }

  @Test func `F2: a reader gets its response, although it cannot be written yet`() async throws {
    let store = store()
    shared.stall()
    await store.save("1", for: "k")
    async let value = store.get("k", .networkOnly).value
    try await network.wait(forCount: 1)
    network[0].answer("2")
    #expect(try await value.value == "2")
    shared.resume()
    await flush(store)
    #expect(shared.value("k")?.value == "2")
  }

  @Test func `E3: what comes during a removal of everything is waited for no longer than the limit`() async throws {
    let store = store()
    shared.stall()
    await #expect(throws: RequestError.self) { try await store.clear() }
    await store.save("1", for: "k")
    await #expect(throws: RequestError.self) { try await store.clear() }
    await store.save("2", for: "k")
    shared.resume()
    await flush(store)
    #expect(shared.value("k")?.value == "2")
  }
}
