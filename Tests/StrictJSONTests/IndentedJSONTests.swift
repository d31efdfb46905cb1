import StrictJSON
import Testing

@Suite struct IndentedJSONTests {
  @Test(arguments: [
    ("1", "1"), ("[]", "[]"), ("{ }", "{}"), ("[1,2]", "[\n  1,\n  2\n]"),
    (#"{"a":{"b":[]},"c":"x"}"#, "{\n  \"a\": {\n    \"b\": []\n  },\n  \"c\": \"x\"\n}"),
    (#"["{\"a\": [1, 2]}\\", "{"]"#, "[\n  \"{\\\"a\\\": [1, 2]}\\\\\",\n  \"{\"\n]"),
    ("{\r\n\t\"a\" : 1 }", "{\n  \"a\": 1\n}"),
  ]) func `a value has a member and an element a line`(json: String, indented: String) throws {
    #expect(try RawJSON(json: json).indented == indented)
  }

  @Test func `an indented text is read as the same value, and indented the same`() throws {
    var random = RandomJSON(seed: 7)
    for _ in 0..<500 {
      let value = random.value()
      let indented = try RawJSON(value).indented
      #expect(try JSONValue(json: indented) == value)
      #expect(try RawJSON(json: indented).indented == indented)
    }
  }
}
