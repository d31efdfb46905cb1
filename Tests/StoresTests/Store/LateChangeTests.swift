import StoresTestSupport
import Streams
import Testing

@testable import Stores

/// Changes whose answers come late: to requests in flight, or to a store that was signed out.
@Suite struct LateChangeTests {
  private let server = FakeServer<String, [String]>()
  private let store: Store<String, [String]>

  init() {
    let server = server
    var configuration = StoreConfiguration<[String]>()
    configuration.isCacheable = { !$0.isEmpty }
    store = Store(.ofPartial(server.fetch), configuration: configuration)
  }

  private func addingToAll(_ item: String) -> Observable<[String]> {
    store.mutate(
      .ofAll(keyForResponse: { _ in "k" }) { $1.contains("start") ? $1 + [item] : nil },
      send: { [server] in server.fetch("k").map(\.value) })
  }

  @Test(arguments: [nil, ["other"]])
  func `a confirmed change is not lost in a response that was requested before`(kept: [String]?) throws {
    if let kept { store.save(kept, for: "x") }
    let watch = Recorder(store.stream("x", .cacheAndNetwork))
    let change = Recorder(addingToAll("b"))
    server[1].answer(["k"])
    #expect(change.isCompleted.value)
    server[0].answer(["start"])
    try #require(store.peek("x")?.isStale == true && server.count == 3)
    server[2].answer(["start", "b"])
    #expect(watch.take().last?.value == ["start", "b"])
    #expect(store.peek("x")?.isStale == false)
    #expect(server.count == 3)
  }

  @Test(arguments: [false, true])
  func `a value that is changed while it is requested is requested once more`(isConfirmed: Bool) throws {
    store.save(["start"], for: "x")
    let watch = Recorder(store.stream("x", .cacheAndNetwork))
    let change = isConfirmed ? Recorder(addingToAll("b")) : nil
    if isConfirmed { server[1].answer(["k"]) } else { store.update("x") { $0.append("b") } }
    let count = server.count
    server[0].answer(["start"])
    #expect(watch.elements.value.allSatisfy { $0.source != .network })
    try #require(store.peek("x")?.value == ["start", "b"] && server.count == count + 1)
    server[count].answer(["start", "b", "new"])
    #expect(watch.take().last?.brief == #"["start", "b", "new"] network"#)
    #expect(server.count == count + 1)
    #expect(change?.isCompleted.value != false)
  }

  @Test(arguments: [FetchPolicy.networkOnly, .networkFirst, .noCache])
  func `a reader that waits for the network does not see a change meanwhile, and gets its response`(policy: FetchPolicy)
  {
    store.save(["start"], for: "x")
    let watch = Recorder(store.stream("x", policy))
    store.update("x") { $0.append("b") }
    #expect(watch.take().allSatisfy { $0.value == nil && $0.isFetching })
    server[0].answer(["answer"])
    #expect(watch.take().last?.value == ["answer"])
    #expect(store.peek("x")?.value == ["start", "b"])
    // Who keeps no answer has had the one that was asked for.
    guard policy != .noCache else { return #expect(server.count == 1) }
    server[1].answer(["newer"])
    #expect(watch.take().last?.brief == #"["newer"] network"#)
    #expect(server.count == 2)
  }

  @Test func `S1: a sign-out on seeing that a request begins sends none`() {
    let watch = store.stream("k", .networkOnly).subscribe(onNext: { [store] in
      if $0.isFetching { store.perform { $0.signOut { _ in } } }
    })
    #expect(server.count == 0)
    watch.dispose()
  }

  @Test func `S1: a sign-out on seeing a change sends none`() {
    store.save(["start"], for: "k")
    let watch = store.stream("k", .cacheOnly).subscribe(onNext: { [store] in
      if $0.source == .optimistic { store.perform { $0.signOut { _ in } } }
    })
    let change = Recorder(addingToAll("b"))
    #expect(change.error.value as? StoreError == .signedOut)
    #expect(server.count == 0)
    watch.dispose()
  }

  @Test func `S1: a store that was signed out sends no change`() async throws {
    try await store.signOut()
    let ofOne = store.mutate(.of("k") { $0 }, send: { [server] in server.fetch("k").map(\.value) })
    let changes = [addingToAll("b"), ofOne].map { Recorder($0) }
    #expect(changes.map { $0.error.value as? StoreError } == [.signedOut, .signedOut])
    #expect(server.count == 0)
  }

  @Test(arguments: [["answer"], []])
  func `S1: a response to a change is not delivered once the account was signed out`(answer: [String]) async throws {
    let change = Recorder(addingToAll("b"))
    try await store.signOut()
    server[0].answer(answer)
    #expect(change.error.value as? StoreError == .signedOut)
    #expect(change.take().isEmpty)
  }

  @Test func `S1: a change without a response ends, also once the account was signed out`() async throws {
    let change = Recorder(addingToAll("b"))
    try await store.signOut()
    server[0].observer.onCompleted()
    #expect(change.error.value as? StoreError == .signedOut)
  }
}
