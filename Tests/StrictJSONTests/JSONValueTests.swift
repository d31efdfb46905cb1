import Foundation
import StrictJSON
import Testing

@Suite struct JSONValueTests {
  private func value(_ json: String) throws -> JSONValue {
    try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
  }

  @Test func `every kind of JSON is read`() throws {
    let json = #"{"n": null, "t": true, "i": -7, "d": 0.5, "s": "早", "a": [1, [], {}], "o": {"": false}}"#
    #expect(
      try value(json) == [
        "n": .null, "t": true, "i": -7, "d": 0.5, "s": "早", "a": [1, [], [:]], "o": ["": false],
      ])
  }

  @Test func `a value gives what it is, and nothing else`() throws {
    let values = try value(#"[null, true, -7, 0.5, "早", [1], {"a": 1}]"#).arrayValue ?? []
    #expect(values.compactMap(\.boolValue) == [true])
    #expect(values.compactMap(\.integerValue) == [-7])
    #expect(values.compactMap(\.numberValue) == [-7, 0.5])
    #expect(values.compactMap(\.stringValue) == ["早"])
    #expect(values.compactMap(\.arrayValue) == [[1]])
    #expect(values.compactMap { $0["a"] } == [1])
  }

  @Test(arguments: ["0", "1", "-1", "9223372036854775807", "-9223372036854775808"])
  func `whole numbers of 64 bits keep every digit`(number: String) throws {
    #expect(try value(number) == .integer(#require(Int64(number))))
    #expect(try JSONEncoder().encode(value(number)) == Data(number.utf8))
  }

  @Test func `greater numbers and fractions are kept as doubles`() throws {
    #expect(try value("1e300") == .number(1e300))
    #expect(try value("-0.25") == .number(-0.25))
  }

  @Test func `booleans and numbers are distinguished`() throws {
    #expect(try value("[true, 1, false, 0]") == [.bool(true), .integer(1), .bool(false), .integer(0)])
  }

  @Test func `a value that was read is written the same`() throws {
    let json = #"{"a":[null,true,-7,0.5,"x",{}],"b":{"c":[]}}"#
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(try encoder.encode(value(json)) == Data(json.utf8))
  }

  @Test func `members and texts are found`() throws {
    let value = try value(#"{"code": "X", "n": 1}"#)
    #expect(value["code"]?.stringValue == "X")
    #expect(value["n"]?.stringValue == nil)
    #expect(value["none"] == nil)
    #expect(JSONValue.array([])["a"] == nil)
  }

  @Test func `a coder of any options reads and writes it in the same way`() throws {
    for coder in [JSONCoder(dates: .secondsSince1970), JSONCoder(keys: .snakeCase), JSONCoder(data: .deferredToData)] {
      let json = #"{"a_b":[null,true,-7,0.5,"x",{"cD":1}],"é":{}}"#
      let value = try coder.decode(JSONValue.self, from: Data(json.utf8))
      #expect(try value == JSONValue(json: json))
      #expect(try coder.encode([value]) == Data("[\(json)]".utf8))
      for text in [#"{"a":[1,1e]}"#, #"{"a":[{"b":[1e]}]}"#] {
        let errors = [coder, JSONCoder()].map { coder in
          #expect(throws: DecodingError.self) { try coder.decode(JSONValue.self, from: Data(text.utf8)) }
        }
        #expect(String(describing: errors[0]) == String(describing: errors[1]))
      }
    }
  }

  @Test func `the last of two equal keys in a literal counts`() {
    #expect((["a": 1, "a": 2] as JSONValue)["a"] == 2)
  }

  @Test func `a value prints as JSON, and one that JSON does not have as Swift does`() {
    #expect("\(["a": [1, 2.5, true, .null, "x\"y"]] as JSONValue)" == #"{"a":[1,2.5,true,null,"x\"y"]}"#)
    #expect("\(JSONValue.number(.nan))" == "nan")
    #expect("\(JSONValue.array([.number(.infinity)]))" == "[inf]")
  }

}
