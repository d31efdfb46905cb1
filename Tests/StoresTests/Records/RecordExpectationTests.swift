import StrictJSON
import Testing

@testable import Stores

/// A read that is expected to give some text gives what the records have, whether that is the text or not.
@Suite struct RecordExpectationTests {
  private static let document = "{ rows { id name } }"

  /// A response of more than one window of what is compared, with a value that is longer than that.
  private static let json: String = {
    let rows = (0..<300).map { number in
      let name = String(repeating: "n", count: number == 150 ? 9_000 : number % 50)
      return #"{"__typename":"Row","id":"\#(number)","name":"\#(name)"}"#
    }
    return #"{"rows":["# + rows.joined(separator: ",") + "]}"
  }()

  private func bytes(_ text: String) -> PaddedBytes { PaddedBytes(text.utf8.span.bytes) }

  @Test func `what is expected is given itself if it is read`() throws {
    var test = TestCache()
    var plan = try test.plan(Self.document)
    let response = bytes(Self.json)
    _ = try test.cache.write(response, of: &plan)
    let result = try test.cache.read(&plan, expecting: response)
    #expect(result.json === response)
    #expect(try test.cache.read(&plan).text == Self.json)
  }

  @Test func `something else is given if that is read, wherever it differs`() throws {
    var test = TestCache()
    try test.write(Self.document, Self.json)
    var plan = try test.plan(Self.document)
    let text = Array(Self.json.utf8)
    for place in Array(stride(from: 0, to: text.count, by: 97)) + [text.count - 1] {
      var other = text
      other[place] ^= 1
      for expected in [other, Array(text[..<place]), text + other[place...]] {
        let result = try test.cache.read(&plan, expecting: PaddedBytes(expected.span.bytes))
        #expect(result.json?.bytes.elementsEqual(text) == true)
      }
    }
  }

  @Test func `pages of which the last lacks something are read again from their beginning`() throws {
    var connection = TestConnection()
    func write(_ ids: Range<Int>, _ fields: String) throws {
      let rows = ids.map { number -> JSONValue in
        ["__typename": "Row", "id": .string("\(number)"), "name": .string(String(repeating: "n", count: 40))]
      }
      let variables: [String: JSONValue] = ["offset": .integer(Int64(ids.lowerBound)), "limit": 200]
      let document = TestConnection.list.replacing("{ id }", with: "{ \(fields) }")
      try connection.test.write(document, TestConnection.text(of: ["list": .array(rows)]), variables)
    }
    try write(0..<200, "id name")
    try write(200..<400, "id")
    var plan = try connection.test.plan(
      TestConnection.list.replacing("{ id }", with: "{ id name }"), variables: ["offset": 0, "limit": 200])
    plan.readsAllPages = true
    let first = try #require(try connection.test.cache.read(&plan).json)
    #expect(try JSONValue(json: first.description)["list"]?.arrayValue?.count == 200)
    let others = [0, 5_000, first.count - 2].map { bytes(String(first.description.prefix($0)) + ",{}]}") }
    for expected in [first] + others {
      #expect(try connection.test.cache.read(&plan, expecting: expected).json == first)
    }
  }
}
