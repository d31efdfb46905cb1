import Foundation
import StrictJSON
import Testing

@Suite struct RawJSONTests {
  /// Puts a value into an array, by the bytes alone.
  private struct Boxed: JSONEncodable {
    let inner: RawJSON
    func encode(to json: inout JSONWriter) {
      json.beginArray()
      json.write(inner)
      json.endArray()
    }
  }

  /// The same by a nested container, whose text is put in its place at the end.
  private struct Nested: Encodable {
    let inner: RawJSON
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      var nested = container.nestedUnkeyedContainer()
      try nested.encode(inner)
    }
  }

  private func text(levels: Int) -> String {
    let pairs = levels / 2
    let innermost = levels % 2 == 1 ? "[]" : "0"
    return String(repeating: #"[[],{"a":"#, count: pairs) + innermost + String(repeating: "}]", count: pairs)
  }

  @Test func `T4: raw JSON is not written deeper than it can be read`() throws {
    for levels in [127, 128] {
      let raw = try RawJSON(json: text(levels: levels))
      #expect(try RawJSON(raw) == raw)
      #expect(try JSONCoder().encode(raw) == Data(raw.bytes))
      for coder in [JSONCoder(), JSONCoder(keys: .snakeCase)] {
        if levels == 127 {
          let data = try coder.encode([raw])
          #expect(try coder.decode([RawJSON].self, from: data) == [raw])
          #expect(try RawJSON(Boxed(inner: raw)).bytes == Array(data))
        } else {
          #expect(throws: EncodingError.self) { try coder.encode([raw]) }
        }
        #expect(throws: EncodingError.self) { try coder.encode([[raw]]) }
        #expect(throws: EncodingError.self) { try coder.encode(Nested(inner: raw)) }
      }
    }
    let raw = try RawJSON(Boxed(inner: RawJSON(json: text(levels: 127))))
    #expect(throws: JSONError.self) { try Boxed(inner: raw).json() }
  }

  @Test func `a text that is no JSON is not kept`() {
    struct Nothing: JSONEncodable {
      func encode(to json: inout JSONWriter) {}
    }
    #expect(throws: JSONError.self) { try RawJSON(Nothing()) }
  }
}
