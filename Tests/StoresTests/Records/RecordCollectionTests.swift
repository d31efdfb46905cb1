import Testing

@testable import Stores

struct RecordCollectionTests {
  private func collect(_ test: inout TestCache, _ retained: [RecordDependencies], slice: Int = 1) {
    test.cache.beginCollection(retaining: retained)
    while test.cache.continueCollection(entities: slice) {}
  }

  private let lists = "{ a { v } b { v } }"
  private let json =
    #"{"a":[{"__typename":"T","id":"1","v":1},{"__typename":"T","id":"2","v":2}],"#
    + #""b":[{"__typename":"T","id":"3","v":3}]}"#

  @Test("what nobody retains goes, and what is retained is read as before", arguments: [1, 2, 100])
  func sweeping(slice: Int) throws {
    var test = TestCache()
    try test.write(lists, json)
    let kept = try test.read("{ a { v } }")
    collect(&test, [kept.dependencies], slice: slice)
    #expect(try test.text("{ a { v } }") == kept.text)
    #expect(test.cache.entity("T", id: "1") != nil)
    #expect(try test.text("{ b { v } }") == "missing b.0.__typename")
  }

  @Test("an entity that is still pointed to is missing, not null, and its number goes with the last pointer")
  func danglingReference() throws {
    var test = TestCache()
    try test.write(lists, json)
    let kept = try test.read("{ a { v } }")
    collect(&test, [kept.dependencies])
    #expect(test.cache.entity("T", id: "3") != nil)
    try test.write("{ b { v } }", #"{"b":[]}"#)
    collect(&test, [kept.dependencies])
    #expect(test.cache.entity("T", id: "3") == nil)
    #expect(test.cache.entityCount == 3)
  }

  @Test("fields with arguments go if nobody reads them, and their numbers are used again")
  func arguments() throws {
    var test = TestCache()
    for number in 0..<50 {
      try test.write("{ p(n: \(number)) { v } }", #"{"p":{"__typename":"T","id":"\#(number)","v":1}}"#)
    }
    let kept = try test.read("{ p(n: 7) { v } }")
    collect(&test, [kept.dependencies])
    #expect(test.cache.entityCount == 2)
    #expect(try test.text("{ p(n: 7) { v } }") == kept.text)
    #expect(try test.text("{ p(n: 8) { v } }") == "missing p")
    let fields = test.cache.fieldKeys.count
    for number in 100..<140 { try test.write("{ p(n: \(number)) { v } }", #"{"p":null}"#) }
    #expect(test.cache.fieldKeys.count == fields)
  }

  @Test("what is written or read during a collection stays")
  func during() throws {
    var test = TestCache()
    try test.write(lists, json)
    test.cache.beginCollection(retaining: [])
    _ = test.cache.continueCollection(entities: 1)
    try test.write(
      "{ c(n: 1) { v w { x } } }", #"{"c":{"__typename":"T","id":"4","v":4,"w":{"__typename":"W","id":null,"x":[5]}}}"#)
    let read = try test.text("{ c(n: 1) { v } }")
    while test.cache.continueCollection(entities: 1) {
      try test.write("{ d { v } }", #"{"d":{"__typename":"T","id":"5","v":5}}"#)
    }
    #expect(try test.text("{ c(n: 1) { v } }") == read)
    #expect(try test.text("{ c(n: 1) { w { x } } }").contains(#""x":[5]"#))
    #expect(try test.text("{ d { v } }") == #"{"d":{"__typename":"T","id":"5","v":5}}"#)
  }

  @Test("what a layer settles while responses are being emptied stays")
  func settlingDuring() throws {
    var test = TestCache()
    let long = String(repeating: "x", count: 1000)
    try test.write("{ l { v } }", #"{"l":[{"__typename":"T","id":"1","v":1},{"__typename":"T","id":"2","v":2}]}"#)
    test.cache.addLayer(1)
    try test.write("{ a b }", #"{"a":"kept","b":"\#(long)"}"#, in: 1)
    try test.write("{ b }", #"{"b":1}"#, in: 1)
    let kept = try test.read("{ a b l { v } }")
    test.cache.beginCollection(retaining: [kept.dependencies])
    // The first pass, and in the second the root.
    for _ in 0..<4 { _ = test.cache.continueCollection(entities: 1) }
    test.cache.settleLayer(1)
    while test.cache.continueCollection(entities: 1) {}
    #expect(try test.text("{ a b l { v } }") == kept.text)
    #expect(test.cache.chunkBytes < 1000)
  }

  @Test("what layers show stays")
  func layers() throws {
    var test = TestCache()
    test.cache.addLayer(1)
    try test.write(lists, json, in: 1)
    collect(&test, [])
    #expect(try test.text(lists) == json)
  }

  private func user(_ id: String) -> String { #"{"__typename":"User","id":"\#(id)","name":"number \#(id)"}"# }

  @Test(arguments: [
    ("{ me { name } }", #"{"me":USER}"#), ("{ users { name } }", #"{"users":[USER]}"#),
    ("{ box { me { name } } }", #"{"box":{"__typename":"Box","id":null,"me":USER}}"#),
  ])
  func `a reference that another process writes during a collection never shows another entity`(
    document: String, json: String
  ) throws {
    for layer in [nil, 1] as [UInt64?] {
      var other = TestCache()
      try other.write(document, json.replacing("USER", with: user("7")))
      let root = try #require(other.cache.root("Query"))
      let name = try #require(document.split(separator: " ").dropFirst().first)
      let field = try #require(other.cache.fieldNumber(String(name)))
      var bytes: [UInt8] = []
      other.cache.encode([other.cache.change(root, field)], into: &bytes)

      var test = TestCache()
      try test.write("{ count }", #"{"count":1}"#)
      for id in ["7", "8"] { try test.write(document, json.replacing("USER", with: user(id))) }
      if let layer { test.cache.addLayer(layer) }
      let kept = try test.read("{ count }")
      test.cache.beginCollection(retaining: [kept.dependencies])
      // The first pass.
      for _ in 0..<test.cache.entityCount { _ = test.cache.continueCollection(entities: 1) }
      var (notes, receipt) = (RecordNotes(), RecordReceipt(layer: layer, now: StoreTime(microseconds: 0)))
      try test.cache.receive(bytes[...], &notes, &receipt)
      while test.cache.continueCollection(entities: 1) {}
      try test.write("{ x { name } }", #"{"x":USER}"#.replacing("USER", with: user("9")))
      let text = try test.text(document)
      #expect(text.hasPrefix("missing \(name)"), "\(text)")
      try test.write("{ x { name } }", #"{"x":USER}"#.replacing("USER", with: user("7")))
      #expect(try test.text(document) == json.replacing("USER", with: user("7")))
    }
  }

  @Test(arguments: [1, 100])
  func `what layers hide stays, with all that can be reached from it, as what they show does`(slice: Int) throws {
    var test = TestCache()
    let document = "{ l { v w { x } p(n: 1) { q(m: 2) { x } } } }"
    func item(_ id: Int, _ x: Int) -> String {
      #"{"__typename":"T","id":"\#(id)","v":\#(id),"w":{"__typename":"W","id":"\#(id)","x":\#(x)},"#
        + #""p":{"__typename":"P","id":null,"q":{"__typename":"Q","id":"\#(id)","x":\#(x)}}}"#
    }
    let (all, left) = (#"{"l":[\#(item(1, 1)),\#(item(2, 2))]}"#, #"{"l":[\#(item(2, 2))]}"#)
    let changed = #"{"l":[\#(item(3, 3))]}"#
    try test.write(document, all)
    try test.write("{ other(n: 1) { v } }", #"{"other":{"__typename":"T","id":"9","v":9}}"#)
    test.cache.addLayer(1)
    try test.write(document, left, in: 1)
    test.cache.addLayer(2)
    try test.write(document, changed, in: 2)
    test.cache.addLayer(3)
    try test.write("{ l { v } }", #"{"l":null}"#, in: 3)
    let kept = try test.read(document)
    collect(&test, [kept.dependencies], slice: slice)
    #expect(test.cache.entity("T", id: "9") == nil)
    _ = test.cache.removeLayer(3)
    #expect(try test.text(document) == changed)
    _ = test.cache.removeLayer(2)
    #expect(try test.text(document) == left)
    _ = test.cache.removeLayer(1)
    #expect(try test.text(document) == all)
  }

  /// A shop without a key.
  private func shop(_ product: String) -> String { #"{"shop":{"__typename":"Shop","id":null,"p":\#(product)}}"# }

  @Test func `fields with arguments of a keyless object go if nobody reads them, with their numbers`() throws {
    var test = TestCache()
    for number in 0..<50 {
      try test.write("{ shop { p(n: \(number)) { v } } }", shop(#"{"__typename":"T","id":"\#(number)","v":1}"#))
    }
    try test.write("{ shop { name } }", #"{"shop":{"__typename":"Shop","id":null,"name":"s"}}"#)
    let kept = try test.read("{ shop { p(n: 7) { v } } }")
    let before = test.cache.chunkBytes
    collect(&test, [kept.dependencies])
    #expect(test.cache.entityCount == 2)
    #expect(test.cache.chunkBytes * 4 < before)
    #expect(try test.text("{ shop { p(n: 7) { v } } }") == kept.text)
    #expect(try test.text("{ shop { p(n: 8) { v } } }") == "missing shop.p")
    #expect(try test.text("{ shop { name } }").contains(#""name":"s""#))
    let fields = test.cache.fieldKeys.count
    for number in 100..<140 { try test.write("{ shop { p(n: \(number)) { v } } }", shop("null")) }
    #expect(test.cache.fieldKeys.count == fields)
  }

  @Test func `what nobody reads of embedded objects goes in lists, in pages, and in one another`() throws {
    var test = TestCache {
      $0.addsKeyToUnknownTypes = false
      $0.paging["Query.feed"] = .connection
    }
    func document(_ n: Int) -> String {
      "{ l { s { p(n: \(n)) } } feed(first: 2) { count(n: \(n)) edges { cursor q(n: \(n)) node { id } } "
        + "pageInfo { hasNextPage } } }"
    }
    func json(_ n: Int) -> String {
      #"{"l":[{"__typename":"L","s":{"__typename":"S","p":\#(n)}}],"feed":{"__typename":"F","count":\#(n),"#
        + #""edges":[{"__typename":"E","cursor":"c","q":\#(n),"node":{"__typename":"N","id":"n"}}],"#
        + #""pageInfo":{"__typename":"I","hasNextPage":false}}}"#
    }
    for n in [1, 2] { try test.write(document(n), json(n)) }
    let kept = try test.read(document(2))
    #expect(kept.text == json(2))
    collect(&test, [kept.dependencies])
    for name in ["p", "count", "q"] {
      #expect(test.cache.fieldNumber("\(name)(n:1)") == nil)
      #expect(test.cache.fieldNumber("\(name)(n:2)") != nil)
    }
    #expect(try test.text(document(2)) == kept.text)
    #expect(try test.text("{ feed(first: 2) { count(n: 1) } }") == "missing feed.count")
  }

  @Test func `what is written to an embedded object during a collection stays`() throws {
    for slices in 0..<8 {
      var test = TestCache()
      try test.write("{ shop { p(n: 1) } a { v } }", #"{"shop":{"__typename":"Shop","id":null,"p":1},"a":null}"#)
      let kept = try test.read("{ a { v } }")
      test.cache.beginCollection(retaining: [kept.dependencies])
      for _ in 0..<slices { _ = test.cache.continueCollection(entities: 1) }
      try test.write("{ shop { p(n: 2) } }", shop("2"))
      while test.cache.continueCollection(entities: 1) {}
      #expect(try test.text("{ shop { p(n: 2) } }") == shop("2"))
    }
  }

  @Test("a response of which little is left does not stay in memory")
  func compaction() throws {
    var test = TestCache()
    let long = String(repeating: "x", count: 10_000)
    let document = "{ l { v } }"
    let items = (0..<20).map { #"{"__typename":"T","id":"\#($0)","v":"\#(long)"}"# }
    try test.write(document, #"{"l":[\#(items.joined(separator: ","))]}"#)
    #expect(test.cache.chunkBytes > 200_000)
    try test.write(document, #"{"l":[\#(items[3])]}"#)
    let kept = try test.read(document)
    collect(&test, [kept.dependencies])
    #expect(test.cache.chunkBytes < 11_000)
    #expect(try test.text(document) == kept.text)
  }

  @Test("a change of one field does not keep the whole response that brought it")
  func smallChange() throws {
    var test = TestCache()
    let long = String(repeating: "x", count: 10_000)
    try test.write("{ a b }", #"{"a":"\#(long)","b":1}"#)
    let before = test.cache.chunkBytes
    for number in 2..<50 { try test.write("{ a b }", #"{"a":"\#(long)","b":\#(number)}"#) }
    #expect(test.cache.chunkBytes < before + 200)
  }

  @Test("removing an entity or a field reports what was visible")
  func removing() throws {
    var test = TestCache()
    try test.write("{ t { v w(n: 1) } }", #"{"t":{"__typename":"T","id":"1","v":1,"w":2}}"#)
    let entity = try #require(test.cache.entity("T", id: "1"))
    let one = test.cache.remove(entity, field: "w(n:1)")
    #expect(test.names(one) == ["T:1.w(n:1)"])
    #expect(test.cache.remove(entity, field: "w(n:1)") == [])
    #expect(try test.text("{ t { v w(n: 1) } }") == "missing t.w")
    let all = test.cache.remove(entity)
    #expect(test.names(all) == ["T:1.__typename", "T:1.id", "T:1.v"])
    #expect(try test.text("{ t { v } }") == "missing t.__typename")
    #expect(test.cache.remove(entity) == [])
  }

  @Test("numbers and keys are used again, however often entities come and go")
  func churn() throws {
    var test = TestCache()
    for round in 0..<30 {
      let items = (0..<100).map { #"{"__typename":"T","id":"round \#(round) item \#($0)","v":\#($0)}"# }
      let json = #"{"l":[\#(items.joined(separator: ","))]}"#
      try test.write("{ l { v } }", json)
      let kept = try test.read("{ l { v } }")
      collect(&test, [kept.dependencies], slice: 50)
      #expect(test.cache.entityCount == 101)
      #expect(try test.text("{ l { v } }") == json)
    }
    #expect(test.cache.entities.count < 210)
    #expect(test.cache.slots.count < 1500)
  }
}
