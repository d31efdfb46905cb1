import Foundation
import StrictJSON
import Testing

@Suite struct SelectionTests {
  private struct User: JSONSelection, Decodable, Equatable {
    let name: String
    let age: Int?
    let tags: [String]
    let friend: Friend?

    init(name: String, age: Int? = nil, tags: [String] = [], friend: Friend? = nil) {
      (self.name, self.age, self.tags, self.friend) = (name, age, tags, friend)
    }

    init(selecting json: inout JSONReader) throws(JSONError) {
      name = try json.string("name")
      age = try json.optionalInt("age")
      tags = try json.list("tags")
      friend = try json.optionalValue("friend")
    }

    struct Friend: JSONSelection, Equatable {
      let id: String
      let score: Double

      init(id: String, score: Double) { (self.id, self.score) = (id, score) }

      init(selecting json: inout JSONReader) throws(JSONError) {
        id = try json.string("id")
        score = try json.double("score")
      }
    }
  }

  private static let whole = User(name: "Wei", age: 7, tags: ["a", "b"], friend: .init(id: "1", score: 1.5))

  @Test(arguments: [
    #"{"name":"Wei","age":7,"tags":["a","b"],"friend":{"id":"1","score":1.5}}"#,
    #" { "friend" : { "score" : 1.5 , "id" : "1" } , "tags" : [ "a" , "b" ] , "age" : 7 , "name" : "Wei" } "#,
    #"{"x":[{"name":1}],"name":"Wei","y":{},"age":7,"tags":["a","b"],"friend":{"z":0,"id":"1","score":1.5},"w":null}"#,
    #"{"__typename":"User","name":"Wei","age":7,"tags":["a","b"],"friend":{"__typename":"F","id":"1","score":1.5}}"#,
    #"{"age":7,"tags":["a","b"],"friend":{"score":1.5,"id":"1"},"n\u0061me":"Wei"}"#,
    #"{"name":"Wei","name":"no","age":7,"tags":["a","b"],"age":8,"friend":{"id":"1","score":1.5}}"#,
    #"{"tags":["a","b"],"tags":[],"friend":{"id":"1","score":1.5},"age":7,"name":"Wei","friend":null}"#,
  ])
  func `members are found in any order, and the first of equal keys counts`(text: String) throws {
    #expect(try User(json: text) == Self.whole)
    #expect(try [User](json: "[\(text),\(text)]") == [Self.whole, Self.whole])
    #expect(try JSONCoder().decode(User.self, from: Data(text.utf8)) == Self.whole)
  }

  @Test(arguments: [
    #"{"name":"Wei","tags":[]}"#, #"{"tags":[],"name":"Wei"}"#, #"{"name":"Wei","age":null,"tags":[],"friend":null}"#,
    #"{"friend":null,"tags":[],"name":"Wei","z":1}"#,
  ])
  func `an optional member may be null or left out`(text: String) throws {
    #expect(try User(json: text) == User(name: "Wei"))
  }

  @Test(arguments: [
    (#"{}"#, "At name (byte 1): a value is missing"),
    (#"{"age":1,"tags":[]}"#, "At name (byte 18): a value is missing"),
    (#"{"name":"a","friend":{"id":"1"},"tags":[]}"#, "At friend.score (byte 30): a value is missing"),
    (#"{"name":null,"tags":[]}"#, "At name (byte 8): expected a string, found null"),
    (#"{"tags":[1],"name":"a"}"#, "At tags[0] (byte 9): expected a string, found a number"),
    (#"{"name":"a","tags":[],"x":tru}"#, "At x (byte 26): expected true or false"),
    (#"{"name":"a","tags":[]"#, "At tags (byte 21): expected ',' or '}'"),
    (#"{"tags":[],"name":"a""#, "At name (byte 21): expected ',' or '}'"),
    (#"[]"#, "At byte 0: expected an object, found an array"),
  ])
  func `an error names the path and the place`(text: String, description: String) throws {
    let error = try #require(throws: JSONError.self) { try User(json: text) }
    #expect(error.description == description)
  }

  @Test func `another decoder reads it, too, with the paths of errors`() throws {
    let text = #"{"users":[{"tags":["a","b"],"age":7,"name":"Wei","friend":{"id":"1","score":1.5}}]}"#
    let users = try JSONDecoder().decode([String: [User]].self, from: Data(text.utf8))
    #expect(users == ["users": [Self.whole]])
    let wrong = Data(#"{"users":[{"name":"a","tags":["a",1]}]}"#.utf8)
    let error = try #require(throws: DecodingError.self) {
      try JSONDecoder().decode([String: [User]].self, from: wrong)
    }
    guard case .typeMismatch(_, let context) = error else { throw error }
    #expect(context.codingPath.map(\.stringValue) == ["users", "Index 0", "tags", "Index 1"])
  }

  @Test func `a __typename that is repeated 100,000 times takes no more stack, and the first counts`() throws {
    let repeated = String(repeating: #""__typename": "T", "#, count: 100_000)
    let user = try User(json: #"{\#(repeated)"name": "a", "tags": []}"#)
    #expect(user == User(name: "a"))
  }

  @Test func `a reader goes on behind an object that could not be read`() throws {
    struct Lossy: JSONDecodable {
      var users: [User?] = []
      init(from json: inout JSONReader) throws(JSONError) {
        try json.beginArray()
        while try json.nextElement() { users.append(try? json.readResult(User.self).get()) }
      }
    }
    let text = #"[{"tags":[],"age":"x","name":"a"},{"tags":[],"name":"b"},{"friend":{"score":1,"id":2},"name":"c"}]"#
    #expect(try Lossy(json: text).users == [nil, User(name: "b"), nil])
  }
}

/// Fragments, which read members of the object that others read, too.
@Suite struct FragmentSelectionTests {
  private struct Named: JSONSelection, Equatable {
    let name: String
    let inner: Inner

    init(name: String, a: Int) { (self.name, inner) = (name, Inner(a: a)) }

    init(selecting json: inout JSONReader) throws(JSONError) {
      name = try json.string("name")
      inner = try json.value("inner")
    }

    struct Inner: JSONSelection, Equatable {
      let a: Int
      init(a: Int) { self.a = a }
      init(selecting json: inout JSONReader) throws(JSONError) { a = try json.int("a") }
    }
  }

  private struct Always: JSONSelection, Equatable {
    let id: Int
    let named: Named
    let b: Int

    init(id: Int, named: Named, b: Int) { (self.id, self.named, self.b) = (id, named, b) }

    init(selecting json: inout JSONReader) throws(JSONError) {
      id = try json.int("id")
      named = try json.fragment()
      b = try json.value("inner") { (json: inout JSONReader) throws(JSONError) in try B(from: &json).b }
    }

    struct B: JSONSelection {
      let b: Int
      init(selecting json: inout JSONReader) throws(JSONError) { b = try json.int("b") }
    }
  }

  @Test(arguments: [
    #"{"id":1,"name":"n","inner":{"a":2,"b":3}}"#, #"{"inner":{"b":3,"a":2},"name":"n","id":1}"#,
    #"{"name":"n","id":1,"inner":{"b":3,"a":2},"x":0}"#,
  ])
  func `a fragment and its object may read one member, each what it selects of it`(text: String) throws {
    #expect(try Always(json: text) == Always(id: 1, named: Named(name: "n", a: 2), b: 3))
  }

  private struct Sometimes: JSONSelection, Equatable {
    let id: Int
    let named: Named?
    let last: Int?

    init(id: Int, named: Named?, last: Int?) { (self.id, self.named, self.last) = (id, named, last) }

    init(selecting json: inout JSONReader) throws(JSONError) {
      id = try json.int("id")
      named = try json.fragment(ifHas: "name")
      last = try json.optionalInt("last")
    }
  }

  @Test(arguments: [
    (#"{"id":1,"last":4}"#, false), (#"{"id":1,"name":"n","inner":{"a":2},"last":4}"#, true),
    (#"{"last":4,"id":1}"#, false), (#"{"last":4,"inner":{"a":2},"name":"n","id":1}"#, true),
    (#"{"id":1,"inner":{"c":2},"last":4}"#, false),
  ])
  func `a fragment that was left out is told by a key that it alone selects`(text: String, isThere: Bool) throws {
    #expect(try Sometimes(json: text) == Sometimes(id: 1, named: isThere ? Named(name: "n", a: 2) : nil, last: 4))
  }

  @Test func `a fragment of which a member is missing was left out, and any other fault is an error`() throws {
    #expect(try Sometimes(json: #"{"id":1,"name":"n","inner":{}}"#) == Sometimes(id: 1, named: nil, last: nil))
    #expect(try Sometimes(json: #"{"id":1,"name":"n","last":4}"#) == Sometimes(id: 1, named: nil, last: 4))
    let error = try #require(throws: JSONError.self) { try Sometimes(json: #"{"id":1,"name":"n","inner":{"a":"x"}}"#) }
    #expect(error.description == "At inner.a (byte 32): expected a whole number, found a string")
  }

  private struct Objects: JSONSelection, Equatable {
    let inner: Named.Inner?
    let list: [Named.Inner]?
    let rows: [[Named.Inner]]?
    let last: Int

    init(inner: Named.Inner?, list: [Named.Inner]?, rows: [[Named.Inner]]?, last: Int) {
      (self.inner, self.list, self.rows, self.last) = (inner, list, rows, last)
    }

    init(selecting json: inout JSONReader) throws(JSONError) {
      inner = try json.valueIfComplete("inner")
      list = try json.listIfComplete("list")
      rows = try json.valueIfComplete("rows")
      last = try json.int("last")
    }
  }

  @Test(arguments: [
    (#"{"inner":{"a":1},"list":[{"a":1}],"rows":[[{"a":1}]],"last":2}"#, true),
    (#"{"last":2,"rows":[[{"a":1}]],"list":[{"a":1}],"inner":{"a":1}}"#, true),
    (#"{"inner":{"b":[1]},"list":[{"b":1}],"rows":[[],[{"b":{}}]],"last":2}"#, false),
    (#"{"last":2,"rows":[[{"b":{}}]],"list":[{"b":1}],"inner":{"b":1}}"#, false), (#"{"last":2}"#, false),
    (#"{"inner":null,"list":null,"rows":null,"last":2}"#, false),
  ])
  func `an object that may be left out is there if it is complete, also where a fragment selects another part of it`(
    text: String, isThere: Bool
  ) throws {
    let inner = Named.Inner(a: 1)
    let expected =
      isThere
      ? Objects(inner: inner, list: [inner], rows: [[inner]], last: 2)
      : Objects(inner: nil, list: nil, rows: nil, last: 2)
    #expect(try Objects(json: text) == expected)
    #expect(throws: JSONError.self) { try Objects(json: #"{"inner":{"a":"x"},"last":2}"#) }
  }

  private struct Complete: JSONSelection {
    let name: String
    let named: Named?

    init(selecting json: inout JSONReader) throws(JSONError) {
      name = try json.string("name")
      named = try json.fragmentIfComplete()
    }
  }

  @Test func `a fragment of which all may be selected beside it is there if it is complete`() throws {
    #expect(try Complete(json: #"{"name":"n","inner":{"b":1}}"#).named == nil)
    #expect(try Complete(json: #"{"name":"n","inner":{"b":1,"a":2}}"#).named == Named(name: "n", a: 2))
    let text = #"[{"name":"n","inner":{"b":{"c":[1]}}},{"inner":{"a":2},"name":"n"}]"#
    #expect(try [Complete](json: text).map(\.named) == [nil, Named(name: "n", a: 2)])
    #expect(throws: JSONError.self) { try Complete(json: #"{"name":"n","inner":{"a":"x"}}"#) }
  }

  @Test(.timeLimit(.minutes(1)))
  func `fragments that are left out cost no more for what was read before`() throws {
    struct Leaf: JSONSelection {
      let z: Int
      init(selecting json: inout JSONReader) throws(JSONError) { z = try json.int("z") }
    }
    struct Branch: JSONSelection {
      let v: Leaf
      init(selecting json: inout JSONReader) throws(JSONError) { v = try json.value("v") }
    }
    struct Both: JSONSelection {
      let leaf: Leaf?
      let branch: Branch?
      init(selecting json: inout JSONReader) throws(JSONError) {
        leaf = try json.fragmentIfComplete()
        branch = try json.fragmentIfComplete()
      }
    }
    let count = 30_000
    let all = try [Both](json: "[\(Array(repeating: #"{"v":{"y":1}}"#, count: count).joined(separator: ","))]")
    #expect(all.count == count)
    #expect(all.allSatisfy { $0.leaf == nil && $0.branch == nil })
  }

  private struct Item: JSONSelection, Equatable {
    enum Kind: JSONSelection, Equatable {
      case named(Named)
      case other(String)

      init(selecting json: inout JSONReader) throws(JSONError) {
        let typename = try json.typename()
        self = typename == "Named" ? .named(try json.fragment()) : .other(typename)
      }
    }

    let __typename: String
    let kind: Kind
    let named: Named?

    init(selecting json: inout JSONReader) throws(JSONError) {
      __typename = try json.typename()
      kind = try json.fragment()
      named = try json.fragment(ifType: ["Named", "Other"])
    }
  }

  private struct Maybe: JSONSelection {
    let __typename: String?
    let named: Named?

    init(selecting json: inout JSONReader) throws(JSONError) {
      __typename = try json.optionalTypename()
      named = try json.fragment(ifType: ["Named"])
    }
  }

  @Test func `a name of the type that may be left out is read once more where it is needed`() throws {
    let maybe = try Maybe(json: #"{"__typename":"Future"}"#)
    #expect(maybe.__typename == "Future")
    #expect(maybe.named == nil)
    #expect(try Maybe(json: #"{"x":1,"__typename":"Named","inner":{"a":1},"name":"n"}"#).named != nil)
    #expect(try [Maybe].init(json: "[]").isEmpty)
  }

  @Test(arguments: [
    #"{"__typename":"Named","name":"n","inner":{"a":2}}"#, #"{"inner":{"a":2},"name":"n","__typename":"Named"}"#,
    #"{"name":"n","__typename":"Named","inner":{"a":2}}"#,
  ])
  func `the name of the type decides what is read`(text: String) throws {
    let item = try Item(json: text)
    #expect(item.__typename == "Named")
    #expect(item.kind == .named(Named(name: "n", a: 2)))
    #expect(item.named == Named(name: "n", a: 2))
    let other = try Item(json: #"{"__typename":"Future","id":1}"#)
    #expect(other.kind == .other("Future"))
    #expect(other.named == nil)
    let error = try #require(throws: JSONError.self) { try Item(json: #"{"name":"n"}"#) }
    #expect(error.description == "At __typename (byte 11): a value is missing")
  }

  @Test func `what is of an object whose members are in another order takes two passes over it, however many it has`()
    throws
  {
    // Each level is read backwards; were members looked for one by one, this would take minutes.
    struct Wide: JSONSelection {
      let sum: Int
      init(selecting json: inout JSONReader) throws(JSONError) {
        let last: Int? = try json.optionalInt("k0")
        let inner: Wide? = try json.optionalValue("inner", Self.boxed)
        sum = (last ?? 0) + (inner?.sum ?? 0)
      }
      private static func boxed(_ json: inout JSONReader) throws(JSONError) -> Wide { try Wide(from: &json) }
    }
    var text = "{\"k0\":1}"
    for _ in 0..<60 {
      text = "{\"inner\":\(text)," + (1...200).map { "\"k\($0)\":\"text\"" }.joined(separator: ",") + ",\"k0\":1}"
    }
    #expect(try Wide(json: text).sum == 61)
  }
}

@Suite struct ReceivedJSONTests {
  private struct Value: JSONSelection, Decodable, JSONReceived, Equatable {
    let a: Int
    let inner: Inner?
    let received: ReceivedJSON

    init(a: Int) { (self.a, inner, received) = (a, nil, .none) }

    init(selecting json: inout JSONReader) throws(JSONError) {
      a = try json.int("a")
      inner = try json.optionalValue("inner")
      received = try json.received()
    }

    struct Inner: JSONSelection, JSONReceived, Equatable {
      let b: Int
      let received: ReceivedJSON

      init(selecting json: inout JSONReader) throws(JSONError) {
        b = try json.int("b")
        received = try json.received()
      }
    }
  }

  @Test(arguments: [
    #"{"a":1,"inner":{"b":2,"c":3},"more":[1, 2]}"#, #"{"inner":{"c":3,"b":2},"more":[1, 2],"a":1}"#,
  ])
  func `a value is written as it came, with what it did not read`(text: String) throws {
    let value = try Value(json: "\u{FEFF}\n" + text)
    #expect(String(decoding: value.received.bytes, as: UTF8.self) == text)
    #expect(try String(decoding: JSONCoder().encode(["v": value]), as: UTF8.self) == #"{"v":\#(text)}"#)
    #expect(try JSONCoder().decode(Value.self, from: JSONCoder().encode(value)) == value)
    let inner = try #require(value.inner)
    #expect(try JSONValue(json: JSONCoder().encode(inner).bytes) == ["b": 2, "c": 3])
    #expect(try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) == value)
  }

  @Test func `what was received is no part of the value`() throws {
    #expect(try Value(json: #"{"a":1}"#) == Value(a: 1))
    #expect(ReceivedJSON.none.hashValue == (try Value(json: #"{"a":1}"#).received.hashValue))
  }

  @Test func `a value that its initialiser made cannot be written, which is an error and no wrong record`() throws {
    #expect(throws: EncodingError.self) { try JSONCoder().encode(Value(a: 1)) }
    #expect(throws: (any Error).self) { try JSONEncoder().encode(Value(a: 1)) }
    let error = try #require(throws: JSONError.self) { try Value(a: 1).json() }
    #expect(error.description.contains("a value that was read from JSON, not one that its initialiser made"))
  }
}

@Suite struct InputObjectTests {
  private struct Filter: JSONInputObject {
    let name: String
    let limit: Int?
    let isOpen: Bool
    let tags: [String]

    func encode(to json: inout JSONWriter) {
      json.beginObject()
      json.member("name", name)
      json.member("limit", ifPresent: limit)
      json.member("isOpen", isOpen)
      json.member("tags", tags)
      json.endObject()
    }
  }

  @Test func `any encoder writes an input object as it writes itself`() throws {
    let filter = Filter(name: "a\"b", limit: nil, isOpen: true, tags: ["c"])
    let expected: JSONValue = ["name": "a\"b", "isOpen": true, "tags": ["c"]]
    #expect(try JSONValue(json: filter.json().bytes) == expected)
    #expect(try JSONValue(json: JSONCoder().encode([filter]).bytes) == [expected])
    #expect(try JSONValue(json: JSONEncoder().encode(filter).bytes) == expected)
    let limited = Filter(name: "", limit: 3, isOpen: false, tags: [])
    #expect(try String(decoding: limited.json(), as: UTF8.self) == #"{"name":"","limit":3,"isOpen":false,"tags":[]}"#)
  }
}
