import Foundation
import StrictJSON
import Testing

@Suite struct ErrorTests {
  private struct Point: JSONDecodable {
    var x = 0
    var tags: [String] = []
    var inner: [Point]?

    init(from json: inout JSONReader) throws(JSONError) {
      var x: Int?
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "x") {
          x = try json.read()
        } else if json.key(is: "tags") {
          tags = try json.read()
        } else if json.key(is: "inner") {
          inner = try json.read()
        } else {
          try json.skipValue()
        }
      }
      self.x = try json.require(x, "x")
    }
  }

  private func error(_ text: String) throws -> JSONError {
    try #require(throws: JSONError.self) { try Point(json: text) }
  }

  @Test(arguments: [
    (#"{"x": 1.5}"#, "At x (byte 6): expected a whole number that fits Int"),
    (#"{"x": 99999999999999999999}"#, "At x (byte 6): expected a whole number that fits Int"),
    (#"{"x": "1"}"#, "At x (byte 6): expected a whole number, found a string"),
    (#"{"x": null}"#, "At x (byte 10): a value is missing"),
    (#"{"tags": []}"#, "At x (byte 11): a value is missing"),
    (
      #"{"x":0,"inner":[{"x":1},{"x":1,"tags":["a","b",3]}]}"#,
      "At inner[1].tags[2] (byte 47): expected a string, found a number"
    ),
    (#"{"x":0,"inner":[{"x":1},{"y":1}]}"#, "At inner[1].x (byte 30): a value is missing"),
    (#"{"x":0,"other":{"a":[1,{"b":tru}]}}"#, "At other.a[1].b (byte 28): expected true or false"),
    (#"{"x":0,"a\nb\u0041":nul}"#, "At abA (byte 20): expected null"),
    (#"{"x":0,}"#, "At byte 7: expected a key in quotes"),
    (#"{"x":0"#, "At x (byte 6): expected ',' or '}'"),
    ("[]", "At byte 0: expected an object, found an array"),
    (#"{"x":0} 1"#, "At byte 8: expected nothing more"),
    ("", "At byte 0: expected an object"),
  ])
  func `an error names the path, the byte and what was expected`(text: String, description: String) throws {
    let found = try error(text).description
    #expect(found == description)
  }

  /// Rejects all texts but one, after it has read them.
  private struct Yes: JSONDecodable {
    init(from json: inout JSONReader) throws(JSONError) {
      if try json.readString() != "yes" { throw json.invalid("'yes'") }
    }
  }

  @Test(arguments: [
    (#"{"a":"no"}"#, "At a (byte 9): expected 'yes'"), (#"{"a":"no" }"#, "At a (byte 9): expected 'yes'"),
    (#"{"a":"no","b":"yes"}"#, "At a (byte 9): expected 'yes'"),
    (#"{"a":"yes","b":"no"}"#, "At b (byte 19): expected 'yes'"),
  ])
  func `a value that its type rejects has the path of the value read before`(text: String, description: String) {
    #expect(#expect(throws: JSONError.self) { try [String: Yes](json: text) }?.description == description)
  }

  @Test(arguments: [
    ("[1.]", "[0]"), (#"{"a":-}"#, "a"), (#"{"a":}"#, "a"), (#"{"a":[1,-]}"#, "a[1]"), (#"{"a":1e]}"#, "a"),
    (#"{"a":[{"b":1.}]}"#, "a[0].b"), (#"{"a":tru}"#, "a"), ("[[1,]]", "[0]"), (#"[{"a":1,}]"#, "[0]"),
    (#"[{"a":1]"#, "[0]"), (#"{"a":[1}"#, "a"), (#"[{"a"}]"#, "[0].a"), ("[nul]", "[0]"), (#"[{"a":"x}]"#, "[0].a"),
  ])
  func `a value that is cut off before a bracket has its own path`(text: String, path: String) {
    #expect(#expect(throws: JSONError.self) { try JSONValue(json: text) }?.pathText == path)
    let error = #expect(throws: DecodingError.self) { try JSONCoder().decode([[Int]].self, from: Data(text.utf8)) }
    guard case .dataCorrupted(let context) = error else { return }
    #expect((context.underlyingError as? JSONError)?.pathText == path)
  }

  @Test func `a rejected last element has its index`() {
    #expect(#expect(throws: JSONError.self) { try [Yes](json: #"["yes","no"]"#) }?.pathText == "[1]")
  }

  @Test(arguments: [#"{"price":1e999}"#, #"{"price":1e999,"b":1}"#, #"{"price":1e999 }"#])
  func `a decimal that does not fit is reported at its place`(text: String) {
    let error = #expect(throws: JSONError.self) { try [String: Decimal](json: text) }
    #expect(error?.description == "At price (byte 9): expected a number that fits Decimal")
  }

  @Test func `digits that a decimal has no room for are dropped`() throws {
    let value = try Decimal(json: "0." + String(repeating: "6", count: 50))
    #expect(value.description == "0." + String(repeating: "6", count: 38))
  }

  @Test func `an error holds nothing of the values`() throws {
    let error = try error(#"{"x": "hunter2", "tags": ["hunter2"]}"#)
    #expect(!String(reflecting: error).contains("hunter2"))
    #expect(!error.description.contains("hunter2"))
  }

  @Test func `a long key is cut in the path`() throws {
    let key = String(repeating: "k", count: 5000)
    let error = try error(#"{"\#(key)": nope}"#)
    #expect(error.pathText == String(repeating: "k", count: 64) + "…")
  }

  @Test(arguments: ["é", "早", "🔑"])
  func `a long key is cut between characters`(character: String) throws {
    let start = String(repeating: "k", count: 63)
    let error = try error(#"{"\#(start)\#(character)": nope}"#)
    #expect(error.pathText == start + "…")
  }

  @Test(arguments: [(#"\u0041"#, "A", 64), (#"\ud83d\udd11"#, "🔑", 16), (#"\n"#, "", 0), (#"é\""#, "é\"", 21)])
  func `a long key with escapes is cut between characters`(escape: String, character: String, count: Int) throws {
    let key = Array(repeating: escape, count: 1000).joined()
    #expect(try error(#"{"\#(key)": nope}"#).pathText == Array(repeating: character, count: count).joined() + "…")
  }

  @Test func `a key that is just short enough is whole`() throws {
    let key = String(repeating: "k", count: 62) + "é"
    #expect(try error(#"{"\#(key)": nope}"#).pathText == key)
    #expect(try error(#"{"\#(String(repeating: #"\u0041"#, count: 64))": nope}"#).pathText.utf8.count == 64)
  }

  @Test func `errors that are caught under a long key copy no more than its start`() throws {
    let key = String(repeating: #"\u0041"#, count: 1 << 16)
    let json = #"{"\#(key)":[\#(Array(repeating: "{}", count: 2000).joined(separator: ","))]}"#
    #expect(try [String: Lenient](json: json).values.first?.errors.count == 2000)
    let patient = try JSONCoder().decode([String: Patient].self, from: Data(json.utf8)).values.first
    #expect(patient?.errors == 2000)
    #expect(patient?.longestKey == 64 + "…".utf8.count)
  }

  /// Passes over objects that lack a member, and looks at the paths of the errors.
  private struct Patient: Decodable {
    private struct Item: Decodable { let id: Int }
    var errors = 0
    var longestKey = 0

    init(from decoder: any Decoder) throws {
      var elements = try decoder.unkeyedContainer()
      while !elements.isAtEnd {
        do {
          _ = try elements.decode(Item.self)
        } catch DecodingError.keyNotFound(_, let context) {
          errors += 1
          longestKey = max(longestKey, context.codingPath.map(\.stringValue.utf8.count).max() ?? 0)
          _ = try elements.decode([String: Int].self)
        }
      }
    }
  }

  @Test func `T4: nesting deeper than 128 is an error of its own kind`() throws {
    let deep = String(repeating: "[", count: 127) + String(repeating: "]", count: 127)
    _ = try Point(json: #"{"x":0,"y":\#(deep)}"#)
    #expect(try error(#"{"x":0,"y":[\#(deep)]}"#).kind == .tooDeep)
  }

  /// Numbers, and nothing of what is none.
  private struct Lenient: JSONDecodable {
    var numbers: [Int] = []
    var errors: [String] = []

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginArray()
      while try json.nextElement() {
        switch try json.readResult(Int.self) {
        case .success(let number): numbers.append(number)
        case .failure(let error): errors.append(error.description)
        }
      }
    }
  }

  @Test func `errors that are caught take one pass together, however many there are`() throws {
    let lenient = try Lenient(json: "[" + Array(repeating: #""a,[""#, count: 50_000).joined(separator: ",") + ",7]")
    #expect(lenient.numbers == [7])
    #expect(lenient.errors.count == 50_000)
    #expect(lenient.errors.last == "At [49999] (byte 299995): expected a whole number, found a string")
  }

  @Test func `each of several errors names its own path`() throws {
    struct Nested: JSONDecodable {
      var errors: [String] = []
      init(from json: inout JSONReader) throws(JSONError) {
        try json.beginObject()
        while try json.nextKey() {
          switch try json.readResult([Point].self) {
          case .success: break
          case .failure(let error): errors.append(error.description)
          }
        }
      }
    }
    let nested = try Nested(json: #"{"a":[{"x":1},{"x":"]"}],"b":[{"x":0},{}],"c":[],"d":{},"e":[{"x":0,"tags":1}]}"#)
    #expect(
      nested.errors == [
        "At a[1].x (byte 19): expected a whole number, found a string", "At b[1].x (byte 39): a value is missing",
        "At d (byte 53): expected an array, found an object",
        "At e[0].tags (byte 75): expected an array, found a number",
      ])
    let bad = try #require(throws: JSONError.self) { try Nested(json: #"{"a":1,"b":["\x"]}"#) }
    #expect(bad.description.hasPrefix("At b[0] (byte 1"))
  }

  @Test func `a member's error differs from a missing member's`() throws {
    #expect(try error("{}").kind == .missing(key: "x"))
    #expect(try error(#"{"x":[]}"#).kind == .mismatch(.array))
    #expect(try error(#"{"x":1e30}"#).kind == .outOfRange)
    #expect(try error(#"{"x":}"#).kind == .malformed)
  }
}
