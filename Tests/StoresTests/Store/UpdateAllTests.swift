import StoresTestSupport
import Streams
import Testing

@testable import Stores

@Suite("one change of many values")
struct UpdateAllTests {
  /// Counts what is read and written.
  private final class CountingTruth: SourceOfTruth {
    let values = MemoryTruth<String, Int>()
    let calls = Mutable<[String]>([])

    func read(_ key: String) -> StoredValue<Int>? {
      calls.update { $0.append("read " + key) }
      return values.read(key)
    }
    func write(_ stored: StoredValue<Int>, for key: String) {
      calls.update { $0.append("write " + key) }
      values.write(stored, for: key)
    }
    func remove(_ key: String) { values.remove(key) }
    func removeAll() { values.removeAll() }
    func keys() -> [String] { values.keys() }
  }

  private let server = FakeServer<String, Int>()

  @Test func `values are changed and shown once, in memory and in the source of truth`() async {
    let truth = CountingTruth()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    for (key, value) in [("a", 1), ("b", 2), ("c", 3)] { await store.save(value, for: key) }
    let streams = ["a", "b", "d"].map { Recorder(store.stream($0, .cacheOnly)) }
    for stream in streams { _ = stream.take() }
    await store.updateAll { key, value in key == "b" ? nil : value * 10 }
    #expect(streams.map { $0.brief() } == [["10 memory"], [], []])
    #expect(["a", "b", "c"].map { truth.values.read($0)?.value } == [10, 2, 30])
  }

  @Test func `values of keys that are not meant are not read`() async {
    let truth = CountingTruth()
    let first = Store(.ofPartial(server.fetch), storage: .source(truth))
    for (key, value) in [("a", 1), ("b", 2)] { await first.save(value, for: key) }
    await first.close()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    truth.calls.update { $0 = [] }
    await store.updateAll {
      $0 == "a"
    } _: {
      $1 + 1
    }
    #expect(truth.calls.value == ["read a", "write a"])
    #expect(truth.values.read("a")?.value == 2)
  }

  @Test func `a response that was requested before may lack the change, and is requested again`() async throws {
    let store = Store(.ofPartial(server.fetch))
    await store.save(1, for: "a")
    let stream = Recorder(store.stream("a", .cacheAndNetwork))
    await store.updateAll { $1 + 1 }
    server[0].answer(1)
    #expect(server.count == 2)
    server[1].answer(2)
    #expect(stream.brief().last == "2 network")
  }
}
