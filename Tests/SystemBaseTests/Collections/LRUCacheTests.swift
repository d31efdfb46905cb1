import SystemBase
import TestSupport
import Testing

@Suite struct LRUCacheTests {
  @Test func `the least recently used entry is evicted first`() {
    var cache = LRUCache<String, Int>(countLimit: 2, costLimit: .max)
    _ = cache.write(1, for: "a", cost: 1)
    _ = cache.write(2, for: "b", cost: 1)
    #expect(cache.read("a") == 1)
    #expect(cache.write(3, for: "c", cost: 1) == [2])
    #expect(Set(cache.keys) == ["a", "c"])
  }

  @Test func `the sum of costs is bounded, and what costs too much is not kept`() {
    var cache = LRUCache<String, Int>(countLimit: .max, costLimit: 10)
    _ = cache.write(1, for: "a", cost: 4)
    _ = cache.write(2, for: "b", cost: 4)
    #expect(cache.write(3, for: "c", cost: 7) == [1, 2])
    #expect(cache.write(4, for: "d", cost: 11) == [4])
    #expect(cache.statistics.cost == 7)
    #expect(cache.statistics.count == 1)
    // Too large a value takes the old one of its key along.
    #expect(cache.write(5, for: "c", cost: 11) == [3, 5])
    #expect(cache.peek("c") == nil)
    #expect(cache.statistics.cost == 0)
  }

  @Test func `the newest value is found without hashing, and only by its own key`() throws {
    var cache = LRUCache<String, Int>(countLimit: 3, costLimit: .max)
    #expect(cache.newestPlace(of: "a") == nil)
    _ = cache.write(1, for: "a", cost: 0)
    _ = cache.write(2, for: "b", cost: 0)
    #expect(cache.newestPlace(of: "a") == nil)
    #expect(cache.newestPlace(of: "b") == cache.place(of: "b"))
    cache.use(at: try #require(cache.place(of: "a")))
    #expect(cache.newestPlace(of: "a") == cache.place(of: "a"))
    _ = cache.remove("a")
    #expect(cache.newestPlace(of: "a") == nil)
    #expect(cache.newestPlace(of: "b") == cache.place(of: "b"))
  }

  @Test func `hits, misses and evictions are counted`() {
    var cache = LRUCache<Int, Int>(countLimit: 3, costLimit: .max)
    for key in 0..<5 { _ = cache.write(key, for: key, cost: 1) }
    for key in 0..<5 { _ = cache.read(key) }
    let statistics = cache.statistics
    #expect(statistics.hits == 3)
    #expect(statistics.misses == 2)
    #expect(statistics.evictions == 2)
    #expect(statistics.count == 3)
  }

  @Test(arguments: [1, 2, 3])
  func `a cache equals a simple model`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var cache = LRUCache<Int, Int>(countLimit: 8, costLimit: 20)
    var model: [(key: Int, value: Int, cost: Int)] = []
    for step in 0..<5_000 {
      let key = Int.random(in: 0..<16, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let cost = Int.random(in: 0...6, using: &random)
        _ = cache.write(step, for: key, cost: cost)
        model.removeAll { $0.key == key }
        while model.count >= 8 || model.map(\.cost).reduce(0, +) > 20 - cost { model.removeFirst() }
        model.append((key, step, cost))
      case 5..<9:
        let expected = model.firstIndex { $0.key == key }.map { model.remove(at: $0) }
        if let expected { model.append(expected) }
        #expect(cache.read(key) == expected?.value, "seed \(seed), step \(step)")
      default:
        let expected = model.firstIndex { $0.key == key }.map { model.remove(at: $0) }
        #expect(cache.remove(key) == expected?.value, "seed \(seed), step \(step)")
      }
      #expect(Set(cache.keys) == Set(model.map(\.key)))
    }
    #expect(cache.statistics.cost == model.map(\.cost).reduce(0, +))
  }
}
