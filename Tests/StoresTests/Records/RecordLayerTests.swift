import Testing

@testable import Stores

struct RecordLayerTests {
  private let document = "{ user { name age } }"

  private func filled() throws -> TestCache {
    var test = TestCache()
    try test.write(document, #"{"user":{"__typename":"User","id":"1","name":"base","age":1}}"#)
    return test
  }

  private func write(_ name: String, to layer: UInt64?, _ test: inout TestCache) throws -> [String] {
    if let layer { test.cache.addLayer(layer) }
    return try test.write(
      "{ user { name } }", #"{"user":{"__typename":"User","id":"1","name":"\#(name)"}}"#, in: layer)
  }

  private func name(_ test: inout TestCache) throws -> String {
    let text = try test.text("{ user { name } }")
    return String(text.split(separator: "\"").suffix(2).first ?? "")
  }

  @Test("the topmost layer is seen, and roll-back in any order shows what is left", arguments: [[1, 2], [2, 1]])
  func rollBack(order: [UInt64]) throws {
    var test = try filled()
    #expect(try write("A", to: 1, &test) == ["User:1.name"])
    #expect(try write("B", to: 2, &test) == ["User:1.name"])
    #expect(try name(&test) == "B")
    let first = test.cache.removeLayer(order[0])
    #expect(test.names(first) == (order[0] == 2 ? ["User:1.name"] : []))
    #expect(try name(&test) == (order[0] == 2 ? "A" : "B"))
    let second = test.cache.removeLayer(order[1])
    #expect(test.names(second) == ["User:1.name"])
    #expect(try name(&test) == "base")
  }

  @Test("a layer that is added late takes its place by its number")
  func order() throws {
    var test = try filled()
    #expect(try write("B", to: 2, &test) == ["User:1.name"])
    #expect(try write("A", to: 1, &test) == [])
    #expect(test.cache.layerNumbers == [1, 2])
    #expect(try name(&test) == "B")
  }

  @Test("a server's result for the second mutation may come before that of the first")
  func laterResultFirst() throws {
    var test = try filled()
    _ = try write("A", to: 1, &test)
    _ = try write("B", to: 2, &test)
    // The second is answered: its layer goes, and its result settles in the base, below that of the first.
    #expect(try write("B!", to: nil, &test) == [])
    #expect(test.names(test.cache.removeLayer(2)) == ["User:1.name"])
    #expect(try name(&test) == "A")
    #expect(test.names(test.cache.removeLayer(1)) == ["User:1.name"])
    #expect(try name(&test) == "B!")
  }

  @Test("the result of a query that was sent before a mutation settles below its layer")
  func queryBelow() throws {
    var test = try filled()
    _ = try write("optimistic", to: 5, &test)
    let changes = try test.write(
      document, #"{"user":{"__typename":"User","id":"1","name":"old","age":2}}"#)
    #expect(changes == ["User:1.age"])
    #expect(try name(&test) == "optimistic")
    #expect(test.names(test.cache.removeLayer(5)) == ["User:1.name"])
    #expect(try name(&test) == "old")
  }

  @Test("a layer keeps what equals the base when it is written")
  func equalToBase() throws {
    var test = try filled()
    #expect(try write("base", to: 1, &test) == [])
    #expect(try write("new", to: nil, &test) == [])
    #expect(try name(&test) == "base")
    #expect(test.names(test.cache.removeLayer(1)) == ["User:1.name"])
  }

  @Test("a layer that settles changes nothing that is seen", arguments: [nil, 1])
  func settling(lower: UInt64?) throws {
    var test = try filled()
    if let lower { _ = try write("low", to: lower, &test) }
    _ = try write("A", to: 2, &test)
    test.cache.settleLayer(2)
    #expect(try name(&test) == "A")
    if let lower { test.cache.settleLayer(lower) }
    #expect(try name(&test) == "A")
    #expect(test.cache.layerNumbers == [])
  }

  @Test("removing in a layer hides what is below until the layer goes")
  func removingInLayer() throws {
    var test = try filled()
    let user = try #require(test.cache.entity("User", id: "1"))
    test.cache.addLayer(1)
    let changes = test.cache.remove(user, in: 1)
    #expect(test.names(changes) == ["User:1.__typename", "User:1.age", "User:1.id", "User:1.name"])
    #expect(try test.text(document) == "missing user.__typename")
    let back = test.cache.removeLayer(1)
    #expect(test.names(back) == ["User:1.__typename", "User:1.age", "User:1.id", "User:1.name"])
    #expect(try name(&test) == "base")
  }

  @Test("a list in a layer leaves that of the base alone")
  func lists() throws {
    var test = TestCache()
    try test.write("{ l { v } }", #"{"l":[{"__typename":"T","id":"1","v":1}]}"#)
    test.cache.addLayer(1)
    let longer = #"{"l":[{"__typename":"T","id":"1","v":1},{"__typename":"T","id":"2","v":2}]}"#
    #expect(
      try test.write("{ l { v } }", longer, in: 1) == ["Query.l", "T:2.__typename", "T:2.id", "T:2.v"])
    #expect(try test.text("{ l { v } }") == longer)
    #expect(test.cache.removeLayer(1).count == 4)
    #expect(try test.text("{ l { v } }") == #"{"l":[{"__typename":"T","id":"1","v":1}]}"#)
  }
}
