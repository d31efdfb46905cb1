import GraphQLLanguage
import StrictJSON
import Testing

@testable import Stores

struct RecordWritingTests {
  private let user = "{ user { name } }"

  @Test("one object in two places of a response is one entity, with the fields of both")
  func disjointFields() throws {
    var test = TestCache()
    try test.write(
      "{ a { name } b { age } }",
      #"{"a":{"__typename":"User","id":"1","name":"A"},"b":{"__typename":"User","id":"1","age":3}}"#)
    #expect(
      try test.text("{ a { age name } }") == #"{"a":{"__typename":"User","id":"1","age":3,"name":"A"}}"#)
  }

  @Test("a number is the same key as its digits in a string, and escapes are undone")
  func keyForms() throws {
    var test = TestCache()
    try test.write(user, #"{"user":{"__typename":"User","id":12,"name":"A"}}"#)
    try test.write(user, #"{"user":{"__typename":"User","id":"12","name":"B"}}"#)
    try test.write(user, #"{"user":{"__typename":"User","id":"\u00312","name":"C"}}"#)
    #expect(test.cache.entity("User", id: "12") != nil)
    #expect(test.cache.entityCount == 2)
  }

  @Test("white space between a name and its value does not belong to the value")
  func whiteSpace() throws {
    var test = TestCache()
    try test.write(user, #"{"user":{"__typename":"User","id":"1","name":"A"}}"#)
    let changes = try test.write(user, #"{ "user" : { "__typename": "User", "id" : "1" , "name":  "A" } }"#)
    #expect(changes.isEmpty)
    #expect(try test.text(user) == #"{"user":{"__typename":"User","id":"1","name":"A"}}"#)
  }

  @Test("ids of different types do not collide")
  func types() throws {
    var test = TestCache()
    try test.write(
      "{ a { name } b { name } }",
      #"{"a":{"__typename":"User","id":"1","name":"A"},"b":{"__typename":"Dog","id":"1","name":"B"}}"#)
    #expect(test.cache.entityCount == 3)
    #expect(try test.text("{ a { name } }") == #"{"a":{"__typename":"User","id":"1","name":"A"}}"#)
  }

  @Test("an id whose type changes is another entity")
  func typeChange() throws {
    var test = TestCache()
    let one = #"{"user":{"__typename":"User","id":"1","name":"A"}}"#
    try test.write("{ user { name age } }", #"{"user":{"__typename":"User","id":"1","name":"A","age":5}}"#)
    let other = #"{"user":{"__typename":"Admin","id":"1","name":"A"}}"#
    #expect(try test.write(user, other) == ["Admin:1.__typename", "Admin:1.id", "Admin:1.name", "Query.user"])
    #expect(try test.text(user) == other)
    #expect(try test.text("{ user { age } }") == "missing user.age")
    #expect(try test.write(user, one) == ["Query.user"])
  }

  @Test("parts of a key do not run into each other")
  func compositeKeys() throws {
    var test = TestCache { $0.keyFields = ["P": ["a", "b"]] }
    let document = "{ x { a b v } y { a b v } }"
    let json =
      #"{"x":{"__typename":"P","id":null,"a":"a+b","b":"c","v":1},"#
      + #""y":{"__typename":"P","id":null,"a":"a","b":"b+c","v":2}}"#
    try test.write(document, json)
    #expect(test.cache.entityCount == 3)
    #expect(try test.text(document) == json)
    #expect(test.cache.entity("P", key: ["a+b", "c"]) != test.cache.entity("P", key: ["a", "b+c"]))
  }

  @Test("an object without an id, or with a null one, is a part of its parent")
  func embedded() throws {
    var test = TestCache()
    let json = #"{"a":{"__typename":"T","id":null,"v":1},"b":{"__typename":"T","v":2}}"#
    try test.write("{ a { v } b { v } }", json)
    #expect(test.cache.entityCount == 1)
    #expect(try test.text("{ a { v } }") == #"{"a":{"__typename":"T","id":null,"v":1}}"#)
    #expect(try test.text("{ b { v } }") == "missing b.id")
  }

  @Test("an object that gains an id becomes an entity")
  func gainedId() throws {
    var test = TestCache()
    try test.write("{ a { v } }", #"{"a":{"__typename":"T","id":null,"v":1}}"#)
    try test.write("{ a { v } }", #"{"a":{"__typename":"T","id":"7","v":1}}"#)
    #expect(test.cache.entity("T", id: "7") != nil)
  }

  @Test("fields of an embedded object are put together, unless its type changes")
  func embeddedMerge() throws {
    var test = TestCache { $0.keyFields = ["S": [], "R": []] }
    try test.write("{ s { a } }", #"{"s":{"__typename":"S","id":null,"a":1}}"#)
    #expect(try test.write("{ s { b } }", #"{"s":{"__typename":"S","id":null,"b":2}}"#) == ["Query.s"])
    #expect(try test.text("{ s { a b } }") == #"{"s":{"__typename":"S","id":null,"a":1,"b":2}}"#)
    #expect(try test.write("{ s { a } }", #"{"s":{"__typename":"S","id":null,"a":1}}"#) == [])
    try test.write("{ s { a } }", #"{"s":{"__typename":"R","id":null,"a":1}}"#)
    #expect(try test.text("{ s { a b } }") == "missing s.b")
  }

  @Test("lists are replaced: they shrink, change their order, and have nulls and lists in them")
  func lists() throws {
    var test = TestCache()
    let document = "{ l { v } }"
    for json in [
      #"{"l":[{"__typename":"T","id":"1","v":1},{"__typename":"T","id":"2","v":2}]}"#,
      #"{"l":[{"__typename":"T","id":"2","v":2},{"__typename":"T","id":"1","v":1}]}"#,
      #"{"l":[{"__typename":"T","id":"2","v":2}]}"#,
      #"{"l":[[null,{"__typename":"T","id":"2","v":2}],[],[[{"__typename":"T","id":null,"v":3}]]]}"#,
      #"{"l":[]}"#,
      #"{"l":null}"#,
    ] {
      #expect(try test.write(document, json).contains("Query.l"))
      #expect(try test.text(document) == json)
      #expect(try test.write(document, json) == [])
    }
  }

  @Test("a list under two aliases has the fields of both")
  func listTwins() throws {
    var test = TestCache()
    let document = "{ a: l { x } b: l { y } }"
    let json = #"{"a":[{"__typename":"T","id":null,"x":1}],"b":[{"__typename":"T","id":null,"y":2}]}"#
    #expect(try test.write(document, json) == ["Query.l"])
    #expect(try test.text(document) == json)
    #expect(try test.write(document, json) == [])
  }

  @Test("one field with different arguments or aliases")
  func argumentsAndAliases() throws {
    var test = TestCache()
    let document = "{ user { small: photo(size: 1) big: photo(size: 2) photo } }"
    let json = #"{"user":{"__typename":"User","id":"1","small":"s","big":"b","photo":"p"}}"#
    #expect(
      try test.write(document, json) == [
        "Query.user", "User:1.__typename", "User:1.id", "User:1.photo", "User:1.photo(size:1)", "User:1.photo(size:2)",
      ])
    #expect(try test.text(document) == json)
    #expect(
      try test.text("{ user { small: photo(size: 2) } }")
        == #"{"user":{"__typename":"User","id":"1","small":"b"}}"#)
    #expect(try test.text("{ user { photo(size: 3) } }") == "missing user.photo")
  }

  @Test("arrays and objects of custom scalars are values, even if they look like entities")
  func customScalars() throws {
    var test = TestCache()
    let json = #"{"blob":{"__typename":"User","id":"1","list":[1, {"a" : null}]}}"#
    try test.write("{ blob }", json)
    #expect(test.cache.entityCount == 1)
    #expect(try test.text("{ blob }") == json)
  }

  @Test("the Query in a mutation's payload is the root")
  func queryInPayload() throws {
    var test = TestCache()
    try test.write("{ count }", #"{"count":1}"#)
    let changes = try test.write(
      "mutation { add { query { count } } }",
      #"{"add":{"__typename":"Payload","query":{"__typename":"Query","count":2}}}"#)
    #expect(changes == ["Mutation.add", "Query.__typename", "Query.count"])
    #expect(try test.text("{ count }") == #"{"count":2}"#)
  }

  @Test("a null with an error at its path, or below it, replaces nothing")
  func nullWithError() throws {
    var test = TestCache()
    try test.write("{ a b l { v } }", #"{"a":1,"l":[{"__typename":"T","id":null,"v":1}]}"#)
    let changes = try test.write(
      "{ a b l { v } }", #"{"a":null,"b":null,"l":[null]}"#,
      errors: [
        RecordErrorPath([.key("a"), .key("x")]), RecordErrorPath([.key("b")]), RecordErrorPath([.key("l"), .index(0)]),
      ])
    #expect(changes == [])
    #expect(try test.text("{ a }") == #"{"a":1}"#)
    #expect(try test.text("{ b }") == "missing b")
    #expect(try test.text("{ l { v } }") == #"{"l":[{"__typename":"T","id":null,"v":1}]}"#)
    #expect(try test.write("{ b }", #"{"b":null}"#) == ["Query.b"])
    #expect(try test.text("{ b }") == #"{"b":null}"#)
  }

  @Test("a null below a path that was cut replaces nothing")
  func cutPath() throws {
    var test = TestCache()
    let document = "{ a { b { c } } }"
    let full = #"{"a":{"__typename":"A","id":"1","b":{"__typename":"B","id":"2","c":3}}}"#
    try test.write(document, full)
    let holed = #"{"a":{"__typename":"A","id":"1","b":{"__typename":"B","id":"2","c":null}}}"#
    #expect(try test.write(document, holed, errors: [RecordErrorPath([.key("a")], isCut: true)]) == [])
    #expect(try test.text(document) == full)
    #expect(try test.write(document, holed, errors: [RecordErrorPath([.key("a")])]) == ["B:2.c"])
  }

  @Test("what a response lacks is missing, not null, and stays if it was there")
  func missingInResponse() throws {
    var test = TestCache()
    try test.write("{ a b }", #"{"a":1}"#)
    #expect(try test.text("{ a b }") == "missing b")
    try test.write("{ a b }", #"{"b":2}"#)
    #expect(try test.text("{ a b }") == #"{"a":1,"b":2}"#)
  }

  @Test("members in another order, with escapes in keys, white space, and members that nobody asked for")
  func unusualForms() throws {
    var test = TestCache()
    let json =
      "{ \"other\" : [1,{\"x\":\"]\\\"\"}] ,\n"
      + "\"us\\u0065r\"\t: { \"name\" : \"A\" , \"id\" : \"1\" , \"__typename\" : \"User\" } }"
    try test.write(user, json)
    #expect(try test.text(user) == #"{"user":{"__typename":"User","id":"1","name":"A"}}"#)
  }

  @Test("__typename may be selected last, or under an alias")
  func typenamePlaces() throws {
    var test = TestCache()
    let document = "{ user { id name kind: __typename __typename } }"
    let json = #"{"user":{"id":"1","name":"A","kind":"User","__typename":"User"}}"#
    try test.write(document, json)
    #expect(test.cache.entity("User", id: "1") != nil)
    #expect(try test.text(document) == json)
  }

  @Test(
    "malformed responses change nothing",
    arguments: [
      #"{"user":{"__typename":"User","id":"1","name":"B"}"#, #"{"user":{"__typename":"User","id":"1","name":"B"}}}"#,
      #"{"user":{"__typename":"User","id":"1","name":01}}"#,
      "{\"user\":{\"__typename\":\"User\",\"id\":\"1\",\"name\":\"\u{1}\"}}",
      #"{"user":{"__typename":"User","id":"1","name":"\x"}}"#, #"{"user":{"__typename":"User","id":"1","name":"B",}}"#,
      #"{"user":{"__typename":"User","id":"1","name":"B" "x":1}}"#,
      #"{"user":{"__typename":"User","id":"1","name":nul}}"#,
      #"{"user":{"__typename":"User","id":"1","name":[1,}}"#, #"{"user":{"__typename":"User","id":"1","name":-}}"#,
      #"{"user":{"__typename":"User","id":"1","name":1.}}"#, "", "[", #"{"user"}"#, #"{"user":}"#, #"{"user":[,]}"#,
      "nul",
    ])
  func malformed(json: String) throws {
    var test = TestCache()
    let before = #"{"user":{"__typename":"User","id":"1","name":"A"}}"#
    try test.write(user, before)
    #expect(throws: RecordError.self) { try test.write(user, json) }
    #expect(try test.text(user) == before)
    #expect(try test.write(user, before) == [])
  }

  @Test("a value that is neither object nor list where one is selected is an error, and changes nothing")
  func mismatch() throws {
    var test = TestCache()
    #expect(throws: RecordError.mismatch(field: "user")) { try test.write("{ a user { name } }", #"{"a":1,"user":7}"#) }
    #expect(try test.text("{ a }") == "missing a")
    #expect(throws: RecordError.mismatch(field: "data")) { try test.write("{ a }", "[]") }
  }

  @Test("an object nests as deep as a reader goes, and no deeper", arguments: ["", "null"])
  func depth(inner: String) throws {
    var test = TestCache()
    let nested = { (count: Int) in
      "{\"a\":" + String(repeating: "[", count: count) + inner + String(repeating: "]", count: count) + "}"
    }
    try test.write("{ a { b } }", nested(127))
    #expect(try test.text("{ a { b } }") == nested(127))
    #expect(throws: RecordError.self) { try test.write("{ a { b } }", nested(128)) }
    #expect(throws: RecordError.self) { try test.write("{ a }", nested(128)) }
    try test.write("{ a }", nested(127))
  }

  @Test("__typename may be selected in a fragment that does not apply")
  func typenameInFragment() throws {
    var test = TestCache { $0.possibleTypes = ["Any": ["Dog", "Cat"]] }
    var plan = PreparedPlan(
      try RecordPlan(
        DocumentSyntax(parsing: "{ x { ... on Dog { __typename } name } }"), schema: test.cache.schema))
    let json = Array(#"{"x":{"__typename":"Cat","name":"A"}}"#.utf8)
    _ = try test.cache.write(json.span.bytes, of: &plan)
    #expect(try test.cache.read(&plan, isPartial: true).text == #"{"x":{"__typename":null,"name":"A"}}"#)
  }

  @Test("an entity that has been given up is an error")
  func givenUp() throws {
    var test = TestCache()
    try test.write(user, #"{"user":{"__typename":"User","id":"1","name":"A"}}"#)
    let entity = try #require(test.cache.entity("User", id: "1"))
    test.cache.beginCollection(retaining: [])
    while test.cache.continueCollection(entities: 10) {}
    #expect(throws: RecordError.noEntity) {
      try test.text("fragment F on User { name }", fragment: "F", at: entity)
    }
  }

  @Test("N2: a field that had a value and then null in one response changes as others do later")
  func nullAfterValue() throws {
    var test = TestCache()
    // Most of the response is not selected, so what is left of it is moved, and another response gets its number.
    let rest = String(repeating: "-", count: 1_000)
    try test.write(
      "{ a { name } b { name } }",
      #"{"a":{"__typename":"User","id":"1","name":"A"},"b":{"__typename":"User","id":"1","name":null},"c":"\#(rest)"}"#)
    #expect(
      try test.write(user, #"{"user":{"__typename":"User","id":"1","name":"B"}}"#) == ["Query.user", "User:1.name"])
  }

  @Test("a response that is refused leaves a field that had a value and then null as it was")
  func refusedAfterNull() throws {
    var test = TestCache()
    let rest = String(repeating: "-", count: 1_000)
    try test.write(
      "{ a { name } b { name } }",
      #"{"a":{"__typename":"User","id":"1","name":"A"},"b":{"__typename":"User","id":"1","name":null},"c":"\#(rest)"}"#)
    #expect(throws: RecordError.self) {
      try test.write("{ a { name } b { name } }", #"{"a":{"__typename":"User","id":"1","name":"B"},"b":1}"#)
    }
    #expect(try test.text("{ a { name } }") == #"{"a":{"__typename":"User","id":"1","name":null}}"#)
  }

  @Test(
    "the name of a type that needs escapes is not taken for what other bytes say",
    arguments: [(#"x\",\"id\":\"9"#, #"x","id":"9"#, "x"), (#"x\\b"#, #"x\b","id":"9"#, "x\u{8}")])
  func escapedTypeName(escaped: String, rest: String, name: String) throws {
    var test = TestCache()
    var plan = try test.plan(user)
    for json in [
      #"{"user":{"__typename":"\#(escaped)","id":"1","name":"A"}}"#, #"{"user":{"__typename":"\#(rest)","name":"B"}}"#,
    ] {
      _ = try test.cache.write(Array(json.utf8).span.bytes, of: &plan)
    }
    #expect(test.cache.entity(name, id: "9") != nil)
    #expect(test.cache.entityCount == 3)
  }

  @Test func `arguments that only look alike are two fields, also when records are read again`() throws {
    var test = TestCache()
    let document = "query Q($n: String!) { file(name: $n) }"
    let (one, other) = (["n": JSONValue.string("\u{E9}")], ["n": JSONValue.string("e\u{301}")])
    try test.write(document, #"{"file":1}"#, one)
    try test.write(document, #"{"file":2}"#, other)
    #expect(try test.text(document, one) == #"{"file":1}"#)
    #expect(try test.text(document, other) == #"{"file":2}"#)
    var bytes: [UInt8] = []
    test.cache.encodeAll(into: &bytes)
    var restored = TestCache()
    _ = try restored.cache.decode(bytes[...])
    #expect(try restored.text(document, one) == #"{"file":1}"#)
    #expect(try restored.text(document, other) == #"{"file":2}"#)
  }
}
