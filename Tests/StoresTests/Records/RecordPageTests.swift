import GraphQLLanguage
import StrictJSON
import Testing

@testable import Stores

/// A connection of users `1`, `2`, … with the cursors `c1`, `c2`, …
struct TestConnection {
  var test = TestCache { schema in
    schema.addsKeyToUnknownTypes = false
    schema.paging["Query.users"] = .connection
    schema.paging["Query.list"] = .offset()
  }

  static let document = """
    query($first: Int, $after: String, $last: Int, $before: String) {
      users(order: NEW, first: $first, after: $after, last: $last, before: $before) {
        edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
    """

  static let list = "query($offset: Int, $limit: Int) { list(offset: $offset, limit: $limit) { id } }"

  static func node(_ id: Int) -> JSONValue { ["__typename": "User", "id": .string("\(id)")] }

  /// What a server answers that has these users.
  static func response(_ ids: [Int], hasNext: Bool = false, hasPrevious: Bool = false) -> String {
    let edges = ids.map { id -> JSONValue in
      ["__typename": "UserEdge", "cursor": .string("c\(id)"), "node": node(id)]
    }
    let info: JSONValue = [
      "__typename": "PageInfo", "hasNextPage": .bool(hasNext), "hasPreviousPage": .bool(hasPrevious),
      "startCursor": ids.first.map { .string("c\($0)") } ?? .null,
      "endCursor": ids.last.map { .string("c\($0)") } ?? .null,
    ]
    let data: JSONValue = ["users": ["__typename": "Users", "edges": .array(edges), "pageInfo": info]]
    return text(of: data)
  }

  static func text(of data: JSONValue) -> String {
    (try? data.json()).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  mutating func write(
    _ ids: [Int], _ variables: [String: JSONValue], hasNext: Bool = false, hasPrevious: Bool = false
  ) throws {
    try test.write(
      Self.document, Self.response(ids, hasNext: hasNext, hasPrevious: hasPrevious), variables)
  }

  /// The users of a page, with `<` and `>` where there are more; `-` if they are not all there.
  mutating func read(_ variables: [String: JSONValue] = ["first": 2], all: Bool = false) throws -> String {
    var plan = try test.plan(Self.document, variables: variables)
    plan.readsAllPages = all
    guard let json = try test.cache.read(&plan).json else { return "-" }
    let users = try JSONValue(json: json.description)["users"]
    let ids = users?["edges"]?.arrayValue?.compactMap { $0["node"]?["id"]?.stringValue } ?? []
    let info = users?["pageInfo"]
    #expect(info?["startCursor"]?.stringValue == ids.first.map { "c" + $0 })
    #expect(info?["endCursor"]?.stringValue == ids.last.map { "c" + $0 })
    let before = info?["hasPreviousPage"] == true ? "<" : ""
    return before + ids.joined(separator: ",") + (info?["hasNextPage"] == true ? ">" : "")
  }
}

struct RecordPageTests {
  private var connection = TestConnection()

  @Test("pages are one list, in which the arguments of pages are no part of the field's key")
  mutating func forwards() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    #expect(try connection.read() == "1,2>")
    try connection.write([3, 4], ["first": 2, "after": "c2"], hasNext: true, hasPrevious: true)
    #expect(try connection.read(["first": 2], all: true) == "1,2,3,4>")
    #expect(connection.test.cache.fieldNumber("users(order:NEW)") != nil)
  }

  @Test("a read gives the page that its arguments mean, or nothing if it is not all there")
  mutating func slices() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    #expect(try connection.read(["first": 1]) == "1>")
    #expect(try connection.read(["first": 100]) == "-")
    #expect(try connection.read(["first": 2, "after": "c2"]) == "-")
    try connection.write([3], ["first": 2, "after": "c2"])
    #expect(try connection.read(["first": 100]) == "1,2,3")
    #expect(try connection.read(["first": 2, "after": "c1"]) == "<2,3")
    #expect(try connection.read(["last": 2]) == "<2,3")
    #expect(try connection.read(["last": 1, "before": "c3"]) == "<2>")
    #expect(try connection.read(["first": 2, "after": "c3"]) == "<")
  }

  @Test("a server that gives less than it was asked for is not asked again")
  mutating func cappedPages() throws {
    try connection.write([1, 2], ["first": 100], hasNext: true)
    #expect(try connection.read(["first": 100]) == "1,2>")
  }

  @Test("a page that came before the one in front of it joins when that comes")
  mutating func outOfOrder() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    try connection.write([5, 6], ["first": 2, "after": "c4"])
    #expect(try connection.read(all: true) == "1,2>")
    #expect(try connection.read(["first": 2, "after": "c4"]) == "<5,6")
    try connection.write([3, 4], ["first": 2, "after": "c2"], hasNext: true)
    #expect(try connection.read(all: true) == "1,2,3,4,5,6")
  }

  @Test("pages are loaded backwards from the end")
  mutating func backwards() throws {
    try connection.write([5, 6], ["last": 2], hasPrevious: true)
    try connection.write([3, 4], ["last": 2, "before": "c5"], hasPrevious: true)
    #expect(try connection.read(["last": 2], all: true) == "<3,4,5,6")
    #expect(try connection.read(["first": 2]) == "-")
    try connection.write([1, 2], ["last": 2, "before": "c3"])
    #expect(try connection.read(["last": 2], all: true) == "1,2,3,4,5,6")
    #expect(try connection.read(["first": 2]) == "1,2>")
  }

  @Test("a first page that shares an element with the list keeps what follows it")
  mutating func refresh() throws {
    try connection.write([2, 3, 4, 5], ["first": 4], hasNext: true)
    try connection.write([1, 2], ["first": 2], hasNext: true)
    #expect(try connection.read(all: true) == "1,2,3,4,5>")
    try connection.write([1, 3], ["first": 2], hasNext: true)
    #expect(try connection.read(all: true) == "1,3,4,5>")
    try connection.write([5, 1], ["first": 2], hasNext: true)
    #expect(try connection.read(all: true) == "5,1,3,4>")
  }

  @Test("a first page of new elements is followed by the old list once a page has both")
  mutating func gap() throws {
    try connection.write([5, 6], ["first": 2], hasNext: true)
    try connection.write([1, 2], ["first": 2], hasNext: true)
    #expect(try connection.read(all: true) == "1,2>")
    try connection.write([3, 5], ["first": 2, "after": "c2"], hasNext: true)
    #expect(try connection.read(all: true) == "1,2,3,5,6>")
  }

  /// Writes a page without elements that does not end the list; `cursor` is the one that it reaches.
  private mutating func writeEmpty(_ variables: [String: JSONValue], to cursor: String) throws {
    let info: JSONValue = [
      "__typename": "PageInfo", "hasNextPage": true, "hasPreviousPage": true, "startCursor": .string(cursor),
      "endCursor": .string(cursor),
    ]
    let data: JSONValue = ["users": ["__typename": "Users", "edges": [], "pageInfo": info]]
    try connection.test.write(TestConnection.document, TestConnection.text(of: data), variables)
  }

  @Test("a page without elements that does not end the list is passed")
  mutating func passedPages() throws {
    try connection.write([4, 5], ["first": 2], hasNext: true)
    try writeEmpty(["first": 2, "after": "c5"], to: "c7")
    var plan = try connection.test.plan(TestConnection.document, variables: ["first": 2])
    let json = try #require(try connection.test.cache.read(&plan).json)
    let info = try JSONValue(json: json.description)["users"]?["pageInfo"]
    #expect(info?["hasNextPage"] == true)
    #expect(info?["endCursor"] == "c7")
    try writeEmpty(["first": 2, "after": "c7"], to: "c8")
    try connection.write([9], ["first": 2, "after": "c8"])
    #expect(try connection.read(all: true) == "4,5,9")
  }

  @Test("a page without elements that does not begin the list is passed")
  mutating func passedPagesBackwards() throws {
    try connection.write([8, 9], ["last": 2], hasPrevious: true)
    try writeEmpty(["last": 2, "before": "c8"], to: "c5")
    try connection.write([3, 4], ["last": 2, "before": "c5"])
    #expect(try connection.read(["last": 2], all: true) == "3,4,8,9")
  }

  @Test("a first page without elements is passed, also if it comes after others, and several are")
  mutating func passedFirstPages() throws {
    try connection.write([9], ["first": 2, "after": "c8"], hasNext: true)
    try writeEmpty(["first": 2], to: "c2")
    #expect(try endCursor(["first": 2]) == "c2")
    try connection.write([7], ["first": 2, "after": "c6"], hasNext: true)
    try writeEmpty(["first": 2, "after": "c2"], to: "c4")
    #expect(try endCursor(["first": 2]) == "c4")
    try connection.write([5, 7], ["first": 2, "after": "c4"], hasNext: true)
    #expect(try connection.read(all: true) == "5,7>")
    try writeEmpty(["first": 2], to: "c2")
    #expect(try connection.read(all: true) == "5,7>")
  }

  @Test("a last page without elements is passed backwards")
  mutating func passedLastPage() throws {
    try writeEmpty(["last": 2], to: "c8")
    try writeEmpty(["last": 2, "before": "c8"], to: "c6")
    try connection.write([4, 5], ["last": 2, "before": "c6"], hasPrevious: true)
    #expect(try connection.read(["last": 2], all: true) == "<4,5")
  }

  @Test("first and last pages without elements are passed each by themselves")
  mutating func passedAtBothEnds() throws {
    try writeEmpty(["first": 2], to: "c2")
    try writeEmpty(["last": 2], to: "c8")
    #expect(try endCursor(["first": 2]) == "c2")
    try connection.write([3, 4], ["first": 2, "after": "c2"], hasNext: true)
    try connection.write([6, 7], ["last": 2, "before": "c8"], hasPrevious: true)
    #expect(try connection.read(all: true) == "3,4>")
    #expect(try connection.read(["last": 2], all: true) == "<6,7")
  }

  @Test("what an edit adds to a first page without elements is before those behind it")
  mutating func editOfPassedPage() throws {
    try writeEmpty(["first": 2], to: "c2")
    var plan = try connection.test.plan(TestConnection.document, variables: ["first": 2])
    plan.replacesPages = true
    let json = TestConnection.response([1], hasNext: true).replacing("\"c1\"", with: "null")
    _ = try connection.test.cache.write(Array(json.utf8).span.bytes, of: &plan)
    #expect(try endCursor(["first": 2]) == "c2")
    try connection.write([3, 4], ["first": 2, "after": "c2"])
    #expect(try ids(["first": 2]) == ["1", "3", "4"])
  }

  @Test("a page that shares only what an edit has added with a list is not taken to be followed by it")
  mutating func gapBehindEdit() throws {
    try connection.write([5, 6], ["first": 2], hasNext: true)
    var plan = try connection.test.plan(TestConnection.document, variables: ["first": 2])
    plan.replacesPages = true
    let json = TestConnection.response([1, 5, 6], hasNext: true).replacing("\"c1\"", with: "null")
    _ = try connection.test.cache.write(Array(json.utf8).span.bytes, of: &plan)
    #expect(try ids(["first": 2]) == ["1", "5", "6"])
    // Others have added some meanwhile.
    try connection.write([1, 2], ["first": 2], hasNext: true)
    #expect(try connection.read(all: true) == "1,2>")
    try connection.write([3, 5], ["first": 2, "after": "c2"], hasNext: true)
    #expect(try connection.read(all: true) == "1,2,3,5,6>")
  }

  private mutating func users(_ variables: [String: JSONValue]) throws -> JSONValue? {
    var plan = try connection.test.plan(TestConnection.document, variables: variables)
    plan.readsAllPages = true
    return try connection.test.cache.read(&plan).json.flatMap { try JSONValue(json: $0.description)["users"] }
  }

  private mutating func endCursor(_ variables: [String: JSONValue]) throws -> String? {
    try users(variables)?["pageInfo"]?["endCursor"]?.stringValue
  }

  private mutating func ids(_ variables: [String: JSONValue]) throws -> [String]? {
    try users(variables)?["edges"]?.arrayValue?.compactMap { $0["node"]?["id"]?.stringValue }
  }

  @Test("a last page ends the list, an empty one too")
  mutating func end() throws {
    try connection.write([1, 2, 3, 4], ["first": 4], hasNext: true)
    try connection.write([], ["first": 2, "after": "c4"])
    #expect(try connection.read(all: true) == "1,2,3,4")
    try connection.write([3], ["first": 2, "after": "c2"])
    #expect(try connection.read(all: true) == "1,2,3")
    try connection.write([], ["first": 2])
    #expect(try connection.read(all: true) == "")
  }

  @Test("a page of no elements that says there are more says nothing")
  mutating func openAndEmpty() throws {
    try connection.write([], ["first": 0], hasNext: true)
    #expect(try connection.read(all: true) == "-")
    try connection.write([1, 2], ["first": 2], hasNext: true)
    try connection.write([], ["first": 0], hasNext: true)
    #expect(try connection.read(all: true) == "1,2>")
  }

  @Test("a page between two cursors is kept by itself")
  mutating func between() throws {
    try connection.write([1, 2, 3], ["first": 3], hasNext: true)
    try connection.write([2], ["first": 2, "after": "c1", "before": "c3"], hasNext: true)
    #expect(try connection.read(all: true) == "1,2,3>")
    #expect(connection.test.cache.fieldNumber(#"users(after:"c1",before:"c3",first:2,order:NEW)"#) != nil)
  }

  @Test("pages in layers are written again when what is below them changes")
  mutating func layers() throws {
    func write(_ ids: [Int], _ variables: [String: JSONValue], in layer: UInt64?, isEdit: Bool = false) throws {
      var plan = try connection.test.plan(TestConnection.document, variables: variables)
      plan.replacesPages = isEdit
      if let layer { connection.test.cache.addLayer(layer) }
      let json = Array(TestConnection.response(ids, hasNext: true).utf8)
      _ = try connection.test.cache.write(json.span.bytes, of: &plan, in: layer)
    }
    try write([1, 2], ["first": 2], in: nil)
    try write([3, 4], ["first": 2, "after": "c2"], in: 5)
    try write([2], ["first": 2], in: 7, isEdit: true)
    #expect(try connection.read(all: true) == "2,3,4>")
    // What was requested before the edit does not bring back what that has removed.
    try write([0, 1, 2], ["first": 3], in: 3)
    #expect(try connection.read(all: true) == "2,3,4>")
    try write([5], ["first": 2, "after": "c4"], in: nil)
    for layer in [3, 5] as [UInt64] { connection.test.cache.settleLayer(layer) }
    #expect(try connection.read(all: true) == "2,3,4,5>")
    _ = connection.test.cache.removeLayer(7)
    #expect(try connection.read(all: true) == "0,1,2,3,4,5>")
  }

  @Test(
    "what a layer has removed does not come back under the pages that follow it",
    arguments: [(nil, true), (nil, false), (#"{"users":null}"#, true), (#"{"users":null}"#, false)])
  mutating func removalInLayer(replacement: String?, joins: Bool) throws {
    func write(_ json: String, _ variables: [String: JSONValue] = ["first": 2], in layer: UInt64) throws {
      connection.test.cache.addLayer(layer)
      try connection.test.write(TestConnection.document, json, variables, in: layer)
    }
    try connection.write([1, 2], ["first": 2], hasNext: true)
    if let replacement {
      try write(replacement, in: 5)
    } else {
      let root = try #require(connection.test.cache.root("Query"))
      connection.test.cache.addLayer(5)
      _ = connection.test.cache.remove(root, field: "users(order:NEW)", in: 5)
    }
    try write(TestConnection.response([2, 7], hasNext: true), in: joins ? 6 : 5)
    if joins { connection.test.cache.settleLayer(6) }
    // What was requested before the removal.
    try write(TestConnection.response([3, 4], hasNext: true), ["first": 2, "after": "c2"], in: 2)
    #expect(try connection.read(all: true) == "2,7>")
    for layer in [2, 5] as [UInt64] { connection.test.cache.settleLayer(layer) }
    #expect(try connection.read(all: true) == "2,7>")
  }

  @Test(
    "pages are put to those below again when a layer goes that had removed them",
    arguments: [nil, #"{"users":null}"#])
  mutating func removedLayer(replacement: String?) throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    connection.test.cache.addLayer(5)
    if let replacement {
      try connection.test.write(TestConnection.document, replacement, ["first": 2], in: 5)
    } else {
      let root = try #require(connection.test.cache.root("Query"))
      _ = connection.test.cache.remove(root, field: "users(order:NEW)", in: 5)
    }
    connection.test.cache.addLayer(6)
    let page = TestConnection.response([3, 4], hasNext: true)
    try connection.test.write(TestConnection.document, page, ["first": 2, "after": "c2"], in: 6)
    _ = connection.test.cache.removeLayer(5)
    #expect(try connection.read(all: true) == "1,2,3,4>")
  }

  @Test("pages above what is removed keep what they have brought themselves", arguments: [nil, 5] as [UInt64?])
  mutating func removalBelow(layer: UInt64?) throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    connection.test.cache.addLayer(6)
    let page = TestConnection.response([3, 4], hasNext: true)
    try connection.test.write(TestConnection.document, page, ["first": 2, "after": "c2"], in: 6)
    #expect(try connection.read(all: true) == "1,2,3,4>")
    if let layer { connection.test.cache.addLayer(layer) }
    let root = try #require(connection.test.cache.root("Query"))
    let changes = connection.test.cache.remove(root, field: "users(order:NEW)", in: layer)
    #expect(connection.test.names(changes) == ["Query.users(order:NEW)"])
    let shown = try connection.read(all: true)
    #expect(shown != "1,2,3,4>")
    for layer in connection.test.cache.layerNumbers { connection.test.cache.settleLayer(layer) }
    #expect(try connection.read(all: true) == shown)
  }

  @Test("the same page again changes nothing")
  mutating func again() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    try connection.write([3], ["first": 2, "after": "c2"])
    let page = TestConnection.response([1, 2], hasNext: true)
    #expect(try connection.test.write(TestConnection.document, page, ["first": 2]).isEmpty)
  }

  @Test("pages with other fields of their elements and connections are one list")
  mutating func selections() throws {
    let ids =
      "query($after: String) { users(order: NEW, first: 1, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } total } }"
    let page = { (id: Int) in
      #"{"users":{"__typename":"Users","nodes":[{"__typename":"User","id":"\#(id)"}],"pageInfo":{"__typename":"PageInfo","endCursor":"c\#(id)","hasNextPage":true},"total":9}}"#
    }
    try connection.write([1, 2], ["first": 2], hasNext: true)
    #expect(try connection.test.text(ids) == "missing users.nodes")
    try connection.test.write(ids, page(1))
    #expect(try connection.test.text(ids) == page(1))
    #expect(try connection.read() == "1,2>")
    try connection.test.write(ids, page(3), ["after": "c2"])
    #expect(try connection.test.text(ids, ["after": "c2"]) == page(3))
    #expect(try connection.read(["first": 1, "after": "c2"]) == "-")
    try connection.test.write(
      "{ users(order: NEW, first: 0) { total } }", #"{"users":{"__typename":"Users","total":10}}"#)
    #expect(try connection.read() == "1,2>")
  }

  @Test("a connection that is null is, and becomes a list again")
  mutating func null() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    try connection.test.write(TestConnection.document, #"{"users":null}"#, ["first": 2])
    #expect(try connection.test.text(TestConnection.document) == #"{"users":null}"#)
    try connection.write([1], ["first": 2])
    #expect(try connection.read() == "1")
  }

  @Test("a page with errors does not change the list")
  mutating func errors() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    let page = #"{"users":{"__typename":"Users","edges":[null],"pageInfo":null}}"#
    let error = RecordErrorPath([.key("users"), .key("edges"), .index(0)])
    let changes = try connection.test.write(
      TestConnection.document, page, ["first": 2, "after": "c2"], errors: [error])
    #expect(changes.isEmpty)
    #expect(try connection.read(all: true) == "1,2>")
  }

  @Test("an edit replaces the page that it was made of")
  mutating func edits() throws {
    func edit(_ ids: [Int], _ variables: [String: JSONValue], all: Bool = false) throws {
      var plan = try connection.test.plan(TestConnection.document, variables: variables)
      plan.replacesPages = true
      plan.readsAllPages = all
      let json = Array(TestConnection.response(ids, hasNext: true).utf8)
      _ = try connection.test.cache.write(json.span.bytes, of: &plan)
    }
    try connection.write([1, 2, 3, 4], ["first": 4], hasNext: true)
    try edit([9, 1, 2], ["first": 2])
    #expect(try connection.read(all: true) == "9,1,2,3,4>")
    try edit([9], ["first": 2])
    #expect(try connection.read(all: true) == "9,2,3,4>")
    try edit([9, 2, 3], ["first": 4])
    #expect(try connection.read(all: true) == "9,2,3>")
    try edit([3], ["first": 1, "after": "c2"])
    #expect(try connection.read(all: true) == "9,2,3>")
    try edit([], ["first": 1, "after": "c2"])
    #expect(try connection.read(all: true) == "9,2>")
  }

  @Test("a list without cursors is put together by the numbers of its elements")
  mutating func offsets() throws {
    func write(_ ids: [Int], _ offset: Int, _ limit: Int = 2) throws {
      let data: JSONValue = ["list": .array(ids.map(TestConnection.node))]
      try connection.test.write(
        TestConnection.list, TestConnection.text(of: data),
        ["offset": .integer(Int64(offset)), "limit": .integer(Int64(limit))])
    }
    func read(_ offset: Int, _ limit: Int, all: Bool = false) throws -> String {
      var plan = try connection.test.plan(
        TestConnection.list, variables: ["offset": .integer(Int64(offset)), "limit": .integer(Int64(limit))])
      plan.readsAllPages = all
      guard let json = try connection.test.cache.read(&plan).json else { return "-" }
      let list = try JSONValue(json: json.description)["list"]?.arrayValue ?? []
      return list.compactMap { $0["id"]?.stringValue }.joined(separator: ",")
    }
    try write([5, 6], 4)
    #expect(try read(0, 2) == "-")
    #expect(try read(4, 2) == "5,6")
    try write([1, 2], 0)
    #expect(try read(0, 2, all: true) == "1,2")
    try write([3, 4], 2)
    #expect(try read(0, 2, all: true) == "1,2,3,4,5,6")
    #expect(try read(1, 4) == "2,3,4,5")
    #expect(try read(0, 100) == "-")
    try write([7], 6)
    #expect(try read(0, 100) == "1,2,3,4,5,6,7")
    try write([9, 1], 0)
    #expect(try read(0, 100) == "9,1,3,4,5,6,7")
    try write([3], 2)
    #expect(try read(0, 100) == "9,1,3")
  }

  @Test("a collection keeps the pages that are read, and the entities that other runs point to by number")
  mutating func collection() throws {
    try connection.write([1, 2], ["first": 2], hasNext: true)
    try connection.write([5, 6], ["first": 2, "after": "c4"])
    var plan = try connection.test.plan(TestConnection.document, variables: ["first": 2])
    let dependencies = try connection.test.cache.read(&plan).dependencies
    connection.test.cache.beginCollection(retaining: [dependencies])
    while connection.test.cache.continueCollection(entities: 2) {}
    #expect(try connection.read() == "1,2>")
    try connection.write([3, 4], ["first": 2, "after": "c2"], hasNext: true)
    #expect(try connection.read(all: true) == "1,2,3,4>")
    try connection.write([5, 6], ["first": 2, "after": "c4"])
    #expect(try connection.read(all: true) == "1,2,3,4,5,6")
  }

  @Test("all fields of a schema's connections are paged")
  func schema() throws {
    var schema = try RecordSchema(
      """
      type Query { users(first: Int): UserConnection! user: User }
      interface Node { friends: UserConnection }
      type User implements Node { friends(first: Int): UserConnection }
      """)
    schema.pageConnections()
    #expect(schema.paging == ["Query.users": .connection, "User.friends": .connection])
  }
}
