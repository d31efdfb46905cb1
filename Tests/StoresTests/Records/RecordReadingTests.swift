import StrictJSON
import Testing

@testable import Stores

struct RecordReadingTests {
  @Test("a response is read as it was written")
  func roundTrip() throws {
    var test = TestCache()
    let document = "{ user(id: 1) { name friends { name } } }"
    let json =
      #"{"user":{"__typename":"User","id":"1","name":"A","friends":[{"__typename":"User","id":"2","name":"B"},"#
      + #"null,{"__typename":"User","id":"1","name":"A"}]}}"#
    try test.write(document, json)
    #expect(try test.text(document) == json)
  }

  @Test("N3: a miss names the first path that is missing, and a partial read all of them")
  func missing() throws {
    var test = TestCache()
    try test.write(
      "{ l { v } }", #"{"l":[{"__typename":"T","id":"1","v":1},{"__typename":"T","id":"2","v":2}]}"#)
    #expect(try test.text("{ l { v w x } }") == "missing l.0.w")
    let result = try test.read("{ l { v w } z }", isPartial: true)
    #expect(
      result.text
        == #"{"l":[{"__typename":"T","id":"1","v":1,"w":null},{"__typename":"T","id":"2","v":2,"w":null}],"z":null}"#)
    #expect(result.missingPaths == ["l.0.w", "l.1.w", "z"])
  }

  @Test("null, missing and error are three things")
  func nulls() throws {
    var test = TestCache()
    try test.write("{ a b }", #"{"a":null,"b":null}"#, errors: [RecordErrorPath([.key("b")])])
    #expect(try test.text("{ a }") == #"{"a":null}"#)
    #expect(try test.text("{ b }") == "missing b")
    #expect(try test.text("{ c }") == "missing c")
  }

  @Test("@skip and @include leave out fields by the variables")
  func conditions() throws {
    var test = TestCache()
    let document = "query ($x: Boolean = true) { a @include(if: $x) b @skip(if: $x) c }"
    try test.write(document, #"{"a":1,"c":3}"#)
    #expect(try test.text(document) == #"{"a":1,"c":3}"#)
    #expect(try test.text(document, ["x": .bool(false)]) == "missing b")
    try test.write(document, #"{"b":2,"c":3}"#, ["x": .bool(false)])
    #expect(try test.text(document, ["x": .bool(false)]) == #"{"b":2,"c":3}"#)
    #expect(try test.text("{ a @include(if: true) b @skip(if: true) }") == #"{"a":1}"#)
  }

  @Test("fragments on interfaces and unions apply by the table of possible types")
  func possibleTypes() throws {
    var test = TestCache { $0.possibleTypes = ["Animal": ["Dog", "Cat"], "Pet": ["Dog"]] }
    let document = "{ x { ... on Animal { legs } ... on Pet { name } ... on Cat { lives } } }"
    let dog = #"{"x":{"__typename":"Dog","id":"1","legs":4,"name":"D"}}"#
    let cat = #"{"x":{"__typename":"Cat","id":"2","legs":4,"lives":9}}"#
    try test.write(document, dog)
    #expect(try test.text(document) == dog)
    try test.write(document, cat)
    #expect(try test.text(document) == cat)
  }

  @Test("N3: a fragment on a type that is not known to match is a miss, though all of its fields are there")
  func unknownTypes() throws {
    var test = TestCache()
    try test.write("{ x { ... on Animal { legs } } }", #"{"x":{"__typename":"Dog","id":"1","legs":4}}"#)
    #expect(try test.text("{ x { ... on Animal { legs } } }") == "missing x")
    #expect(try test.text("{ x { ... on Dog { legs } } }") == #"{"x":{"__typename":"Dog","id":"1","legs":4}}"#)
  }

  @Test("fragments that exclude each other may give one name to different fields")
  func exclusiveFragments() throws {
    var test = TestCache { $0.possibleTypes = ["Any": ["Dog", "Cat"]] }
    let document = "{ l { ... on Dog { x: name } ... on Cat { x: lives } } }"
    let json = #"{"l":[{"__typename":"Dog","id":"1","x":"D"},{"__typename":"Cat","id":"2","x":9}]}"#
    try test.write(document, json)
    #expect(try test.text(document) == json)
    #expect(try test.text("{ l { ... on Dog { name } ... on Cat { lives } } }").contains(#""lives":9"#))
  }

  @Test("cyclic data is read as deep as the document goes")
  func cycles() throws {
    var test = TestCache()
    try test.write(
      "{ a { friend { friend { name } } } }",
      #"{"a":{"__typename":"U","id":"1","friend":{"__typename":"U","id":"1","#
        + #""friend":{"__typename":"U","id":"1","name":"A"}}}}"#
    )
    #expect(try test.text("{ a { friend { friend { friend { name } } } } }").hasSuffix(#""name":"A"}}}}}"#))
  }

  @Test("a document that is too deep, or endless, is refused")
  func depth() throws {
    let test = TestCache()
    let deep = String(repeating: "{ a ", count: 70) + String(repeating: "}", count: 70)
    #expect(throws: RecordError.self) { try test.plan(deep) }
    #expect(throws: RecordError.self) { try test.plan("{ a { ...F } } fragment F on T { b { ...F } }") }
    #expect(throws: RecordError.noDefinition("G")) { try test.plan("fragment F on T { b }", fragment: "G") }
  }

  @Test("a fragment is read and written for one entity")
  func fragments() throws {
    var test = TestCache()
    try test.write("{ user { name age } }", #"{"user":{"__typename":"User","id":"1","name":"A","age":2}}"#)
    let entity = try #require(test.cache.entity("User", id: "1"))
    let fragment = "fragment F on User { name }"
    #expect(try test.text(fragment, fragment: "F", at: entity) == #"{"id":"1","name":"A"}"#)
    #expect(try test.write(fragment, #"{"name":"B"}"#, fragment: "F", at: entity) == ["User:1.name"])
    #expect(try test.text(fragment, fragment: "F", at: entity) == #"{"id":"1","name":"B"}"#)
  }

  @Test("a plan may be used with several caches")
  func severalCaches() throws {
    var one = TestCache()
    var other = TestCache()
    try other.write("{ z y x }", #"{"z":1,"y":2,"x":3}"#)
    var plan = try one.plan("{ x }")
    let json = Array(#"{"x":5}"#.utf8)
    _ = try one.cache.write(json.span.bytes, of: &plan)
    #expect(try other.cache.read(&plan).text == #"{"x":3}"#)
    #expect(try one.cache.read(&plan).text == #"{"x":5}"#)
  }
}
