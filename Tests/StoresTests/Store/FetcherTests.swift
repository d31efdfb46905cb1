import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

/// Every way to request a value, over every storage: what a store does depends on neither.
@Suite("the two inputs of a store: a fetcher and a storage")
struct FetcherTests {
  private struct Token: Sendable {
    let text: String
  }

  /// The factories of ``Fetcher``, and the initialiser with a trailing closure.
  enum Kind: CaseIterable, Sendable {
    case trailing, async, asyncInContext, stream, streamInContext, partial, partialInContext

    var hasContext: Bool { self == .asyncInContext || self == .streamInContext || self == .partialInContext }
  }

  enum Place: CaseIterable, Sendable { case memory, source, async }

  /// A server that answers with the key and the token, or fails for the key `bad`.
  private let requests = Mutable<[String]>([])

  private func answer(_ key: String, _ token: Token? = nil) throws -> String {
    requests.update { $0.append(key) }
    if key == "bad" { throw Failure() }
    return "\(key) \(token?.text ?? "-")"
  }

  private func response(_ key: String, _ token: Token? = nil) -> Observable<String> {
    .deferred { .just(try answer(key, token)) }
  }

  private func fetcher(_ kind: Kind) -> Fetcher<String, String> {
    switch kind {
    case .trailing, .async:
      .of { key in
        await Task.yield()
        return try answer(key)
      }
    case .asyncInContext:
      .of { key, context in
        await Task.yield()
        return try answer(key, context[Token.self])
      }
    case .stream: .ofStream { key in response(key) }
    case .streamInContext: .ofStream { key, context in response(key, context[Token.self]) }
    case .partial: .ofPartial { key in response(key).map { Fetched($0) } }
    case .partialInContext: .ofPartial { key, context in response(key, context[Token.self]).map { Fetched($0) } }
    }
  }

  private func storage(_ place: Place) -> StoreStorage<String, String> {
    switch place {
    case .memory: .memory
    case .source: .source(MemoryTruth())
    case .async: .async(SharedTruth(SharedTruth.Server()))
    }
  }

  private func store(_ kind: Kind, _ storage: StoreStorage<String, String>) -> Store<String, String> {
    guard kind == .trailing else { return Store(fetcher(kind), storage: storage) }
    return Store(storage: storage) { key in try answer(key) }
  }

  @Test(arguments: Kind.allCases, Place.allCases)
  func `a store requests a value once, keeps it, and shows it to watchers`(_ kind: Kind, _ place: Place) async throws {
    let store = store(kind, storage(place))
    let watcher = Recorder(store.values("k"))
    var context = ReadContext()
    context[Token.self] = Token(text: "A")
    let read = try await store.get("k", .cacheFirst, context: context).value
    let text = kind.hasContext ? "k A" : "k -"
    #expect(read.value == text)
    #expect(read.source == .network)
    #expect(read.isPartial == false)
    let again = try await store.get("k").value
    #expect(again.value == text)
    #expect(again.source == .memory)
    #expect(requests.value == ["k"])
    #expect(watcher.take() == [text])
  }

  @Test(arguments: Kind.allCases, Place.allCases)
  func `a failed request fails its read, and leaves nothing`(_ kind: Kind, _ place: Place) async throws {
    let store = store(kind, storage(place))
    await #expect(throws: Failure.self) { try await store.fresh("bad").value }
    #expect(store.peek("bad") == nil)
    #expect(requests.value == ["bad"])
  }

  @Test(arguments: Kind.allCases, [Place.source, .async])
  func `the next store of a storage finds what this one has got`(_ kind: Kind, _ place: Place) async throws {
    let storage = storage(place)
    let store = store(kind, storage)
    let text = try await store.fresh("k").value
    await store.close()
    let next = self.store(kind, storage)
    let read = try await next.get("k", .cacheOnly).value
    #expect(read.value == text)
    #expect(read.source == .disk)
    #expect(requests.value == ["k"])
  }

  @Test(arguments: Kind.allCases)
  func `without another storage, a value is gone with its store`(_ kind: Kind) async throws {
    let storage = storage(.memory)
    let store = store(kind, storage)
    _ = try await store.fresh("k").value
    await store.close()
    await #expect(throws: StoreError.notCached) { try await self.store(kind, storage).get("k", .cacheOnly).value }
  }

  @Test(arguments: Place.allCases)
  func `a partial response says what is missing, and only memory has it`(_ place: Place) async throws {
    let storage = storage(place)
    let part = Fetcher<String, String>.ofPartial { _ in .just(Fetched("part", errors: [Failure()])) }
    let store = Store(part, storage: storage)
    let read = try await store.get("k", .networkOnly).value
    #expect(read.value == "part")
    #expect(read.isPartial)
    #expect(read.errors.count == 1)
    #expect(store.peek("k")?.isPartial == true)
    await store.close()
    await #expect(throws: StoreError.notCached) { try await Store(part, storage: storage).get("k", .cacheOnly).value }
  }

  @Test(arguments: Place.allCases)
  func `a response is kept under the key that it is for`(_ place: Place) async throws {
    let store = Store(
      .ofStream { key in response(key) }, storage: storage(place),
      keyForResponse: { _, value in String(value.prefix(1)) })
    #expect(try await store.fresh("key").value == "key -")
    #expect(try await store.get("k", .cacheOnly).value.value == "key -")
  }

  @Test func `a store's types are inferred from its fetcher, or from its storage`() async throws {
    let counting = Store(.ofStream { (key: String) in Observable.just(key.count) })
    #expect(try await counting.cached("four").value == 4)
    let kept = Store(
      .ofStream { $0.map { .just($0.count) } ?? .never() }, storage: .source(MemoryTruth<String?, Int>()))
    #expect(try await kept.cached("four").value == 4)
  }
}
