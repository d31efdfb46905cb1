import Repository
import Streams
import Testing

/// Changes whose answers come late: to requests that are under way, or to a store that was signed out.
@Suite struct LateChangeTests {
  private let server = FakeServer<String, [String]>()
  private let store: Store<String, [String]>

  init() {
    let server = server
    var configuration = StoreConfiguration<[String]>()
    configuration.isCacheable = { !$0.isEmpty }
    store = Store(partialFetch: server.fetch, configuration: configuration)
  }

  private func addingToAll(_ item: String) -> Observable<[String]> {
    store.mutateAll(
      optimistic: { $1.contains("start") ? $1 + [item] : nil },
      send: { [server] in server.fetch("k").map(\.value) }, keyForResponse: { _ in "k" })
  }

  @Test(arguments: [nil, ["other"]])
  func `a confirmed change is not lost in what was asked for before`(kept: [String]?) throws {
    if let kept { store.save(kept, for: "x") }
    let watch = Recorder(store.stream("x", .cacheAndNetwork))
    let change = Recorder(addingToAll("b"))
    server[1].answer(["k"])
    #expect(change.isCompleted.value)
    server[0].answer(["start"])
    try #require(store.peek("x")?.isStale == true && server.count == 3)
    server[2].answer(["start", "b"])
    #expect(watch.take().last?.value == ["start", "b"] && store.peek("x")?.isStale == false)
    #expect(server.count == 3)
  }

  @Test func `S1: a store that was signed out sends no change`() {
    store.signOut()
    let ofOne = store.mutate("k", optimistic: { $0 }, send: { [server] in server.fetch("k").map(\.value) })
    let changes = [addingToAll("b"), ofOne].map { Recorder($0) }
    #expect(changes.map { $0.error.value as? StoreError } == [.signedOut, .signedOut])
    #expect(server.count == 0)
  }

  @Test(arguments: [["answer"], []])
  func `S1: an answer to a change is not given once the account was signed out`(answer: [String]) {
    let change = Recorder(addingToAll("b"))
    store.signOut()
    server[0].answer(answer)
    #expect(change.error.value as? StoreError == .signedOut && change.take().isEmpty)
  }

  @Test func `S1: a change without an answer ends, also once the account was signed out`() {
    let change = Recorder(addingToAll("b"))
    store.signOut()
    server[0].observer.onCompleted()
    #expect(change.error.value as? StoreError == .signedOut)
  }
}
