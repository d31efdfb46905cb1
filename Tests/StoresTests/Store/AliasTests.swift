import Stores
import StoresTestSupport
import Streams
import Testing

@Suite("responses that are cached under another key than was requested")
struct AliasTests {
  let server = FakeServer<String, String>()
  let truth = MemoryTruth<String, String>()
  let store: Store<String, String>

  init() {
    store = Store(
      .ofPartial(server.fetch), storage: .source(truth), keyForResponse: { _, value in String(value.prefix(1)) })
  }

  @Test func `a response does not replace a value that was saved since it was requested`() {
    let watch = Recorder(store.stream("me", .networkOnly))
    let get = Recorder(store.get("me", .networkOnly))
    store.save("7 new", for: "7")
    server[0].answer("7 old")
    #expect(store.peek("7")?.value == "7 new")
    #expect(truth.read("7")?.value == "7 new")
    #expect(get.brief() == ["7 old network"])
    #expect(watch.brief() == ["- …", "7 old network"])
  }

  @Test func `a response does not replace a change that was made since it was requested`() {
    let get = Recorder(store.get("me", .networkOnly))
    let change = Recorder(store.mutate(.of("7") { $0 }, send: { .just("7 new") }))
    server[0].answer("7 old")
    #expect(store.peek("7")?.value == "7 new")
    #expect(truth.read("7")?.value == "7 new")
    #expect(get.isCompleted.value)
    #expect(change.isCompleted.value)
  }

  @Test(arguments: [["me", "7"], ["7", "me"]])
  func `the one of two responses that was requested last is cached`(keys: [String]) {
    let gets = keys.map { Recorder(store.get($0, .networkOnly)) }
    server[1].answer("7 new")
    server[0].answer("7 old")
    #expect(store.peek("7")?.value == "7 new")
    #expect(truth.read("7")?.value == "7 new")
    #expect(gets.allSatisfy { $0.isCompleted.value })
  }

  @Test func `a response is stale where its key was invalidated since it was requested`() {
    store.save("7 first", for: "7")
    let gets = ["me", "you"].map { Recorder(store.get($0, .networkOnly)) }
    store.invalidate("7")
    for index in gets.indices {
      server[index].answer("7 old")
      #expect(store.peek("7")?.value == "7 old")
      #expect(store.peek("7")?.isStale == true)
      #expect(truth.read("7")?.isInvalidated == true)
    }
    #expect(gets.allSatisfy { $0.isCompleted.value })
    let later = Recorder(store.get("me", .networkOnly))
    server[2].answer("7 new")
    #expect(store.peek("7")?.value == "7 new")
    #expect(store.peek("7")?.isStale == false)
    #expect(later.isCompleted.value)
  }

  @Test func `a complete response replaces a partial one to a later request`() {
    let gets = ["7", "me"].map { Recorder(store.get($0, .networkOnly)) }
    server[1].answer("7 half", errors: [Failure()])
    #expect(store.peek("7")?.isPartial == true)
    server[0].answer("7 whole")
    #expect(store.peek("7")?.value == "7 whole")
    #expect(truth.read("7")?.value == "7 whole")
    #expect(gets.allSatisfy { $0.isCompleted.value })
  }

  @Test(arguments: [false, true])
  func `a value that memory has no room for is not replaced by one that was requested before`(isInvalidated: Bool) {
    var configuration = StoreConfiguration<String>()
    configuration.memoryCount = 1
    let store = Store(
      .ofPartial(server.fetch), storage: .source(truth), configuration: configuration,
      keyForResponse: { _, value in String(value.prefix(1)) })
    if isInvalidated { store.save("7 first", for: "7") }
    let get = Recorder(store.get("me", .networkOnly))
    if isInvalidated { store.invalidate("7") } else { store.save("7 new", for: "7") }
    store.save("8", for: "8")
    server[0].answer("7 old")
    #expect(truth.read("7")?.value == (isInvalidated ? "7 old" : "7 new"))
    #expect(truth.read("7")?.isInvalidated == isInvalidated)
    #expect(get.isCompleted.value)
  }

  @Test func `a value that was changed since it was requested under another key is requested once more`() throws {
    store.save("7", for: "7")
    let watch = Recorder(store.stream("me", .cacheAndNetwork))
    store.update("7") { $0 += " changed" }
    server[0].answer("7 old")
    try #require(store.peek("7")?.value == "7 changed" && server.count == 2)
    server[1].answer("7 new")
    #expect(store.peek("7")?.value == "7 new")
    #expect(watch.take().last?.value == "7 new")
  }

  @Test(arguments: [false, true])
  func `L8: a response does not replace what was pushed since it was requested`(isRequestedItself: Bool) {
    if isRequestedItself { store.save("7", for: "7") }
    let watch = isRequestedItself ? Recorder(store.stream("7", .cacheAndNetwork)) : nil
    let get = Recorder(store.get("me", .networkOnly))
    store.receive("7") { _ in "7 pushed" }
    server[isRequestedItself ? 1 : 0].answer("7 old")
    #expect(store.peek("7")?.value == (isRequestedItself ? "7 pushed" : nil))
    #expect(get.brief() == ["7 old network"])
    if isRequestedItself { server[0].answer("7 old") }
    #expect(store.peek("7")?.value == (isRequestedItself ? "7 pushed" : nil))
    watch?.dispose()
  }
}
