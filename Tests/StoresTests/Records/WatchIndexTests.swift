import Testing

@testable import Stores

struct WatchIndexTests {
  private func change(
    _ document: String, _ json: String, _ test: inout TestCache
  ) throws -> [RecordChange] {
    var plan = try test.plan(document)
    return try test.cache.write(Array(json.utf8).span.bytes, of: &plan)
  }

  @Test("a change touches those who read the field, and nobody else")
  func exactly() throws {
    var test = TestCache()
    try test.write("{ a { x y } }", #"{"a":{"__typename":"T","id":"1","x":1,"y":1}}"#)
    var index = WatchIndex()
    index.watch(7, try test.read("{ a { x } }").dependencies)
    index.watch(3, try test.read("{ a { x y } }").dependencies)
    let y = try change("{ a { y } }", #"{"a":{"__typename":"T","id":"1","y":2}}"#, &test)
    #expect(index.touched(by: y) == [3])
    let x = try change("{ a { x } }", #"{"a":{"__typename":"T","id":"1","x":2}}"#, &test)
    #expect(index.touched(by: x) == [3, 7])
    index.unwatch(3)
    #expect(index.touched(by: x) == [7])
    #expect(index.count == 1)
  }

  @Test("fields with different arguments are told apart")
  func arguments() throws {
    var test = TestCache()
    try test.write("{ a(n: 1) }", #"{"a":1}"#)
    var index = WatchIndex()
    index.watch(1, try test.read("{ a(n: 1) }").dependencies)
    index.watch(2, try test.read("{ a(n: 2) }").dependencies)
    #expect(index.touched(by: try change("{ a(n: 2) }", #"{"a":5}"#, &test)) == [2])
    #expect(index.touched(by: try change("{ a(n: 1) }", #"{"a":5}"#, &test)) == [1])
  }

  @Test("one who read what was missing is touched when it comes")
  func missing() throws {
    var test = TestCache()
    var index = WatchIndex()
    index.watch(1, try test.read("{ a }").dependencies)
    #expect(index.touched(by: try change("{ a }", #"{"a":5}"#, &test)) == [1])
  }

  @Test("a miss depends on nothing behind the first missing field")
  func miss() throws {
    var test = TestCache()
    var index = WatchIndex()
    index.watch(1, try test.read("{ a b }").dependencies)
    #expect(index.touched(by: try change("{ b }", #"{"b":5}"#, &test)) == [])
  }

  @Test("an element that comes to a list later is watched once the list has been read again")
  func laterElement() throws {
    var test = TestCache()
    let document = "{ l { v } }"
    let one = #"{"__typename":"T","id":"1","v":1}"#
    let two = #"{"__typename":"T","id":"2","v":1}"#
    try test.write(document, #"{"l":[\#(one)]}"#)
    var index = WatchIndex()
    index.watch(1, try test.read(document).dependencies)
    #expect(index.touched(by: try change(document, #"{"l":[\#(one),\#(two)]}"#, &test)) == [1])
    index.watch(1, try test.read(document).dependencies)
    let changed = try change("{ t { v } }", #"{"t":{"__typename":"T","id":"2","v":9}}"#, &test)
    #expect(index.touched(by: changed) == [1])
    try test.write(document, #"{"l":[\#(one)]}"#)
    index.watch(1, try test.read(document).dependencies)
    #expect(index.touched(by: changed.filter { test.cache.name(of: $0.entity) == "T:2" }) == [])
  }

  @Test("more than 64 fields of one object")
  func manyFields() throws {
    var test = TestCache()
    let fields = (0..<200).map { "f\($0)" }
    let json = "{" + fields.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    try test.write("{ \(fields.joined(separator: " ")) }", json)
    var index = WatchIndex()
    for number in 0..<200 { index.watch(UInt64(number), try test.read("{ f\(number) }").dependencies) }
    index.watch(1000, try test.read("{ \(fields.joined(separator: " ")) }").dependencies)
    for number in [0, 62, 63, 64, 130, 199] {
      let changes = try change("{ f\(number) }", "{\"f\(number)\":2}", &test)
      #expect(index.touched(by: changes) == [UInt64(number), 1000])
    }
  }

  @Test("a read of many entities, some of them twice, in any order")
  func manyEntities() throws {
    var test = TestCache()
    let document = "{ l(n: 1) { v } }"
    let numbers = (0..<1500).map { $0 * 7919 % 1200 }
    let elements = { (numbers: [Int]) in
      numbers.map { #"{"__typename":"T","id":"\#($0)","v":1}"# }.joined(separator: ",")
    }
    // The entities have numbers in the order in which they were first met.
    try test.write(document, #"{"l":[\#(elements(Array(0..<1200)))]}"#)
    try test.write(document, #"{"l":[\#(elements(numbers))]}"#)
    var index = WatchIndex()
    let dependencies = try test.read(document).dependencies
    #expect(dependencies.merged.count == 1201)
    #expect(dependencies.merged.map(\.key) == Set(dependencies.entries.map(\.key)).sorted())
    index.watch(7, dependencies)
    for number in [0, 1, 511, 600, 1199] {
      let json = #"{"t":{"__typename":"T","id":"\#(number)","v":2}}"#
      #expect(index.touched(by: try change("{ t(id: \(number)) { v } }", json, &test)).contains(7))
    }
    index.watch(9, try test.read("{ t(id: 600) { v } }").dependencies)
    index.unwatch(7)
    let last = try change("{ t(id: 600) { v } }", #"{"t":{"__typename":"T","id":"600","v":3}}"#, &test)
    #expect(index.touched(by: last) == [9])
  }

  @Test("the fields of an embedded object are those of its parent")
  func embedded() throws {
    var test = TestCache()
    try test.write("{ s { v } }", #"{"s":{"__typename":"S","id":null,"v":1}}"#)
    var index = WatchIndex()
    index.watch(1, try test.read("{ s { v } }").dependencies)
    let changes = try change("{ s { v } }", #"{"s":{"__typename":"S","id":null,"v":2}}"#, &test)
    #expect(index.touched(by: changes) == [1])
  }
}
