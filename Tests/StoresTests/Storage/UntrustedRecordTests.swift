import StoresTestSupport
import Streams
import Testing

@testable import Stores

/// What a store shows of records that it could not bring up to date.
@Suite struct UntrustedRecordTests {
  private let server = FakeServer<String, String>()
  private let truth = FlakyTruth()
  private let store: Store<String, String>

  /// Memory has room for one value, so the source of truth is read again and again.
  init() {
    var configuration = StoreConfiguration<String>()
    configuration.memoryCount = 1
    store = Store(.ofPartial(server.fetch), storage: .source(truth), configuration: configuration)
  }

  /// Puts another value into the place that memory has.
  private func evict() { store.save("other", for: "other") }

  @Test(arguments: [false, true])
  func `an invalidated record is out of date though it could not be read`(isOneOfAll: Bool) {
    store.save("old", for: "k")
    evict()
    truth.failing.update { $0 = isOneOfAll ? [.keys] : [.read] }
    if isOneOfAll { store.invalidateAll() } else { store.invalidate("k") }
    truth.failing.update { $0 = [] }
    let get = Recorder(store.get("k", .cacheFirst))
    #expect(server.count == 1)
    server[0].answer("new")
    #expect(get.brief() == ["new network"])
    evict()
    #expect(Recorder(store.get("k", .cacheFirst)).brief() == ["new disk"])
    #expect(server.count == 1)
  }

  @Test func `a value that could not be written is not replaced by the one before`() {
    store.save("old", for: "k")
    truth.failing.update { $0 = [.write] }
    store.save("new", for: "k")
    #expect(truth.read(unconditionally: "k") == nil, "It was tried to remove the old one")
    truth.failing.update { $0 = [] }
    evict()
    #expect(Recorder(store.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
  }

  @Test(arguments: [true, false])
  func `a value that could not be removed does not come back`(isRemoval: Bool) {
    store.save("old", for: "k")
    truth.failing.update { $0 = [.write, .remove] }
    if isRemoval { store.remove("k") } else { store.save("new", for: "k") }
    truth.failing.update { $0 = [] }
    evict()
    #expect(truth.read(unconditionally: "k") == nil, "It is removed as soon as that works")
    #expect(Recorder(store.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    store.save("newer", for: "k")
    evict()
    #expect(Recorder(store.get("k", .cacheOnly)).brief() == ["newer disk"])
  }

  @Test func `a value that a clear could not remove does not come back`() async {
    await store.save("old", for: "k")
    truth.failing.update { $0 = [.removeAll] }
    await #expect(throws: Failure.self) { try await store.clear() }
    truth.failing.update { $0 = [] }
    #expect(Recorder(store.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
  }

  @Test(arguments: [FlakyTruth.Call.keys, .read])
  func `a record that an accepted change could not reach is out of date`(call: FlakyTruth.Call) {
    store.save("old", for: "k")
    evict()
    let change = Recorder(
      store.mutate(
        .ofAll(keyForResponse: { _ in "other" }) { $1 + " \($0)" },
        send: { [truth] in
          truth.failing.update { $0 = [call] }
          return .just("answer")
        }))
    truth.failing.update { $0 = [] }
    #expect(change.isCompleted.value)
    evict()
    _ = Recorder(store.get("k", .cacheFirst))
    #expect(server.count == 1)
  }

  @Test(arguments: [true, false]) func `a record that a change could not be made to is out of date`(isOfAll: Bool) async
  {
    await store.save("old", for: "k")
    evict()
    truth.failing.update { $0 = [.read] }
    if isOfAll { await store.updateAll { $1 + "!" } } else { await store.update("k") { $0 += "!" } }
    truth.failing.update { $0 = [] }
    _ = Recorder(store.get("k", .cacheFirst))
    #expect(server.count == 1)
  }
}

extension UntrustedRecordTests {
  @Test func `a response that was asked for before a change of what could not be read is asked for again`() async {
    await store.save("old", for: "k")
    evict()
    truth.failing.update { $0 = [.read] }
    let watcher = Recorder(store.stream("k", .cacheFirst))
    #expect(server.count == 1)
    await store.update("k") { $0 += "!" }
    server[0].answer("old")
    #expect(server.count == 2)
    watcher.dispose()
  }
}

/// A source of truth in memory whose calls can be made to fail.
final class FlakyTruth: SourceOfTruth {
  enum Call { case read, write, remove, removeAll, keys }

  let failing = Mutable<Set<Call>>([])
  private let truth = MemoryTruth<String, String>()

  private func check(_ call: Call) throws { if failing.value.contains(call) { throw Failure() } }

  func read(unconditionally key: String) -> String? { truth.read(key)?.value }

  func read(_ key: String) throws -> StoredValue<String>? {
    try check(.read)
    return truth.read(key)
  }

  func write(_ stored: StoredValue<String>, for key: String) throws {
    try check(.write)
    truth.write(stored, for: key)
  }

  func remove(_ key: String) throws {
    try check(.remove)
    truth.remove(key)
  }

  func removeAll() throws {
    try check(.removeAll)
    truth.removeAll()
  }

  func keys() throws -> [String] {
    try check(.keys)
    return truth.keys()
  }
}
