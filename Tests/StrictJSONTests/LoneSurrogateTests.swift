import Foundation
import StrictJSON
import Testing

@Suite("lone surrogates")
struct LoneSurrogateTests {
  private static let texts: [(json: String, value: String)] = [
    (#""\ud83d""#, "\u{FFFD}"), (#""a\uD83Db""#, "a\u{FFFD}b"), (#""\udC4d""#, "\u{FFFD}"),
    (#""\ud83d\ud83d\udc4d""#, "\u{FFFD}👍"), (#""\ud83d\udc4d\udc4d""#, "👍\u{FFFD}"), (#""\ud83d\n""#, "\u{FFFD}\n"),
    (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\\ud83d""#, #"\ud83d"#), (#""\\\ud83d""#, "\\\u{FFFD}"),
    (#""\ud83d\\udc4d""#, "\u{FFFD}\\udc4d"), (#""plain""#, "plain"),
  ]

  private struct Direct: Codable, Hashable {
    var text: String
  }

  @Test(arguments: texts.indices)
  func `a surrogate without a partner is replaced if that is asked for, and refused otherwise`(index: Int) throws {
    let (json, value) = Self.texts[index]
    let body = Data(#"{"text":\#(json)}"#.utf8)
    let replacing = JSONCoder(loneSurrogates: .replaced)
    #expect(try replacing.decode(Direct.self, from: body).text == value)
    #expect(try replacing.decode(JSONValue.self, from: body)["text"] == .string(value))
    // A slice does not begin at 0.
    let slice = Data("xx".utf8 + Array(body)).dropFirst(2)
    #expect(try replacing.decode(Direct.self, from: slice).text == value)
    let isLone = value.contains("\u{FFFD}")
    #expect((try? JSONCoder().decode(Direct.self, from: body).text) == (isLone ? nil : value))
  }

  @Test(arguments: [
    #""\ud8"#, #""\ud83d"#, #""\"#, #""\ud83d\"#, #""\ud83d\u"#, #""\ud83x""#, "", #"\ud83d"#, #""\u""#,
  ])
  func `what is no JSON stays none`(json: String) {
    let replacing = JSONCoder(loneSurrogates: .replaced)
    #expect(throws: (any Error).self) { try replacing.decode(String.self, from: Data(json.utf8)) }
  }

  @Test func `a key with a lone surrogate is replaced, too`() throws {
    let body = Data(#"{"\ud83d":1}"#.utf8)
    #expect(try JSONCoder(loneSurrogates: .replaced).decode([String: Int].self, from: body) == ["\u{FFFD}": 1])
  }
}
