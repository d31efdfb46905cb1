import Foundation
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

/// What the stores of one account over an asynchronous source of truth learn from one another.
@Suite(.timeLimit(.minutes(1))) struct SharedAccountTests {
  private let shared = SharedTruth.Server()
  private let network = FakeServer<String, String>()
  private let account = "\(UUID())"

  private func store(of account: String? = nil) -> Store<String, String> {
    Store(
      .ofPartial { [network] key in network.fetch(key) },
      storage: .async(SharedTruth(shared, identity: account ?? self.account)))
  }

  private func refuse(_ store: Store<String, String>) async throws {
    let read = Recorder(store.get("other", .networkOnly))
    network.requests.value.last?.fail(RequestError(.httpStatus, "", status: 401))
    try await read.waitForEnd()
  }

  /// What the cache has for a key.
  private func cached(_ key: String, in store: Store<String, String>) async throws -> String? {
    let read = Recorder(store.get(key, .cacheOnly))
    try await read.waitForEnd()
    return read.take().first?.value
  }

  @Test func `S1: what a refusal has hidden stays hidden in the account's next store, until the server accepts it`()
    async throws
  {
    var first: Store<String, String>? = store()
    await first?.save("v", for: "k")
    if let first { try await refuse(first) }
    first = nil
    var next: Store<String, String>? = store()
    if let next { #expect(try await cached("k", in: next) == nil) }
    let read = next.map { Recorder($0.get("l", .networkOnly)) }
    network.requests.value.last?.answer("w")
    try await read?.waitForCompletion()
    if let next { #expect(try await cached("k", in: next) == "v") }
    next = nil
    #expect(try await cached("k", in: store()) == "v")
  }

  @Test func `S1: a refusal that comes while an accepted change is applied is in force in the next store`() async throws
  {
    let (first, hasComeTwice) = (store(), Mutable(false))
    await first.save("v", for: "k")
    await first.flush()
    try await refuse(first)
    let isAccepted = Mutable(false)
    let change = Recorder(
      first.mutate(
        .ofAll { [network] _, _ in
          guard isAccepted.value, !hasComeTwice.update({ exchange(&$0, with: true) }) else { return nil }
          // Of a key whose value is in memory, so that the failure is taken note of at once.
          let read = first.get("k", .networkOnly).subscribe(onNext: { _ in })
          network.requests.value.last?.fail(RequestError(.httpStatus, "", status: 401))
          read.dispose()
          return nil
        },
        send: {
          isAccepted.update { $0 = true }
          return .just(1)
        }))
    try await change.waitForCompletion()
    #expect(hasComeTwice.value)
    #expect(try await cached("k", in: first) == nil)
    #expect(try await cached("k", in: store()) == nil)
  }

  @Test func `S1: a group keeps the store of an account that was refused, if nothing else can remember it`()
    async throws
  {
    let store = Store<String, String>(
      .ofPartial { [network] key in network.fetch(key) }, storage: .async(SharedTruth(shared)))
    #expect(!store.isBusy)
    try await refuse(store)
    #expect(store.isBusy)
  }

  @Test func `A2: a sign-out ends the account's other stores, and no other's`() async throws {
    let (first, second, other) = (store(), store(), store(of: "another account \(account)"))
    await second.save("secret", for: "k")
    let watch = Recorder(second.stream("k", .cacheOnly))
    try await refuse(second)
    try await first.signOut()
    try await watch.waitForCompletion()
    await #expect(throws: StoreError.signedOut) { try await second.get("k", .cacheOnly).value }
    #expect(second.hasEnded)
    #expect(!other.hasEnded)
    // The next session of the account.
    let next = store()
    #expect(!next.hasEnded)
    #expect(try await cached("k", in: next) == nil)
    await next.save("new", for: "k")
    #expect(try await cached("k", in: next) == "new")
  }
}
