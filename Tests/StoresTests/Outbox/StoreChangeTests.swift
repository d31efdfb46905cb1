import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// A change that is sent at once shows as one that an outbox sends does.
@Suite("changes of a store, and the two ways to send them")
struct StoreChangeTests {
  enum Way: CaseIterable, Sendable { case mutate, outbox }

  private let folder = TemporaryFolder()
  private let store = Store<String, String>(.ofStream { _ in .never() })

  /// Makes a change of the values "A" and "B", and returns what watchers of them, and of a key without a value, saw.
  private func watch<Response: Sendable>(
    _ way: Way, _ response: Observable<Response>,
    _ change: @escaping @Sendable (String) -> StoreChange<String, String, Response>
  ) async throws -> [[String]] {
    await store.save("A", for: "a")
    await store.save("B", for: "b")
    let watchers = ["a", "b", "c"].map { Recorder(store.stream($0, .cacheOnly)) }
    let sending: Observable<Response>
    switch way {
    case .mutate: sending = store.mutate(change("1")) { response }
    case .outbox:
      let outbox = try Outbox<String, Response>(
        folder: folder.url, partition: "", scheduler: TestScheduler(), isIdempotent: { _ in true },
        send: { _, _ in response })
      store.show(outbox, change: change)
      sending = outbox.submit("1")
    }
    try await Recorder(sending).waitForEnd()
    return watchers.map { $0.brief() }
  }

  @Test(arguments: Way.allCases)
  func `a change of one key is replaced by the response`(_ way: Way) async throws {
    let shown = try await watch(way, .just("new A")) { mutation in .of("a") { value in value.map { $0 + mutation } } }
    #expect(shown == [["A memory", "A1 optimistic", "new A memory"], ["B memory"], ["-"]])
  }

  @Test(arguments: Way.allCases)
  func `a change of one key may bring its first value`(_ way: Way) async throws {
    let shown = try await watch(way, .just("new C")) { mutation in .of("c") { $0 ?? "C" + mutation } }
    #expect(shown == [["A memory"], ["B memory"], ["-", "C1 optimistic", "new C memory"]])
  }

  @Test(arguments: Way.allCases)
  func `a change of any key is replaced by the response at its key, and becomes a part of the others`(
    _ way: Way
  ) async throws {
    let shown = try await watch(way, .just("new A")) { mutation in
      .ofAll(keyForResponse: { String($0.suffix(1)).lowercased() }) { _, value in value + mutation }
    }
    #expect(
      shown == [
        ["A memory", "A1 optimistic", "new A memory"], ["B memory", "B1 optimistic", "B1 memory"], ["-"],
      ])
  }

  @Test(arguments: Way.allCases)
  func `a change whose response is no value becomes a part of all that it affects`(_ way: Way) async throws {
    let shown = try await watch(way, .just(7)) { mutation in
      .ofAll { key, value in key == "b" ? value + mutation : nil }
    }
    #expect(shown == [["A memory"], ["B memory", "B1 optimistic", "B1 memory"], ["-"]])
  }

  @Test(arguments: Way.allCases)
  func `a change that is refused is undone`(_ way: Way) async throws {
    let refusal = Observable<String>.error(RequestError(.httpStatus, "", status: 400))
    let shown = try await watch(way, refusal) { mutation in .of("a") { value in value.map { $0 + mutation } } }
    #expect(shown == [["A memory", "A1 optimistic", "A memory"], ["B memory"], ["-"]])
  }

  @Test(arguments: Way.allCases)
  func `the refusal of one key's change removes its value`(_ way: Way) async throws {
    let refusal = Observable<String>.error(RequestError(.httpStatus, "", status: 403))
    let shown = try await watch(way, refusal) { mutation in .of("a") { value in value.map { $0 + mutation } } }
    #expect(shown == [["A memory", "A1 optimistic", "-"], ["B memory"], ["-"]])
  }
}
