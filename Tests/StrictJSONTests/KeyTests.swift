import StrictJSON
import Testing

@Suite struct KeyTests {
  /// The keys of an object that are found equal to one of a few names, in order.
  private func matches(_ text: String) throws -> [String] {
    try JSONReader.reading(text.utf8.span.bytes) { (json: inout JSONReader) throws(JSONError) in
      var found: [String] = []
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "id") { found.append("id") }
        if json.key(is: "") { found.append("") }
        if json.key(is: "a\\b") { found.append("a\\b") }
        if json.key(is: "naïve") { found.append("naïve") }
        if json.key(is: "aVeryLongKeyThatIsLongerThanTheText") { found.append("long") }
        try json.skipValue()
      }
      return found
    }
  }

  @Test(arguments: [
    (#"{"id":1}"#, ["id"]), (#"{"\u0069d":1,"i\u0064":2}"#, ["id", "id"]), (#"{"":1}"#, [""]),
    (#"{"a\\b":1}"#, ["a\\b"]), (#"{"a\b":1}"#, []), (#"{"naïve":1,"na\u00efve":2}"#, ["naïve", "naïve"]),
    (#"{"ID":1,"id ":2,"i":3,"idd":4}"#, []), (#"{"nai\u0308ve":1}"#, []),
    (#"{"aVeryLongKeyThatIsLongerThanTheText":1}"#, ["long"]),
  ])
  func `a key is matched by what it stands for`(text: String, expected: [String]) throws {
    #expect(try matches(text) == expected)
  }

  @Test func `a key is given with its escapes undone`() throws {
    let keys = try JSONReader.reading(#"{"a":1,"\n\"é":2,"中":3}"#.utf8.span.bytes) {
      (json: inout JSONReader) throws(JSONError) in
      var keys: [String] = []
      try json.beginObject()
      while try json.nextKey() {
        keys.append(json.key)
        try json.skipValue()
      }
      return keys
    }
    #expect(keys == ["a", "\n\"é", "中"])
  }
}
