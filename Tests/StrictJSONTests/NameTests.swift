import Foundation
import StrictJSON
import Testing

/// Strings that are compared: keys, raw values and elements of sets, which Swift would compare and hash in quadratic time
/// if they were full of combining characters.
@Suite struct NameTests {
  /// So many combining characters that hashing them once would take a second.
  private static let hostile = marks(60_000)

  private static func marks(_ count: Int) -> String { String(repeating: "\u{301}\u{323}", count: count / 2) }

  private enum Shade: String, Codable, JSONDecodable { case dark, light }
  private enum PlainShade: String, Codable { case dark, light }
  private enum Shape: Codable { case point, circle(radius: Double) }
  private struct Named: Codable, Hashable, RawRepresentable { var rawValue: String }
  private struct Colors: Decodable {
    enum CodingKeys: String, CodingKey { case red, green }
    init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: CodingKeys.self).allKeys }
  }

  private func isRefused<Value>(_ read: @autoclosure () throws -> Value) -> Bool {
    do {
      _ = try read()
      return false
    } catch let error as JSONError {
      return error.kind == .invalid && error.expected.contains("at most 30 combining characters in a row")
    } catch DecodingError.dataCorrupted(let context) {
      return context.debugDescription.contains("at most 30 combining characters in a row")
    } catch {
      return false
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["", "a", "ab c"])
  func `a key with more than 30 combining characters in a row is an error`(start: String) throws {
    let escaped = String(repeating: #"\u0301\u0323"#, count: 30_000)
    for key in [start + Self.hostile, start + Self.marks(32), start + escaped] {
      let text = #"{"b":{},"c":{"\#(key)":1,"a\#(key)":2}}"#
      let data = Data(text.utf8)
      #expect(isRefused(try JSONValue(json: text)))
      #expect(isRefused(try [String: JSONValue](json: text)))
      #expect(isRefused(try RawJSON(json: text)))
      for coder in [JSONCoder(), JSONCoder(keys: .snakeCase)] {
        #expect(isRefused(try coder.decode(JSONValue.self, from: data)))
        #expect(isRefused(try coder.decode([String: [String: Int]].self, from: data)))
        #expect(isRefused(try coder.decode([String: Colors].self, from: data)))
        #expect(isRefused(try coder.decode([String: Shape].self, from: data)))
      }
      let error = #expect(throws: JSONError.self) { try JSONValue(json: text) }
      #expect(error?.pathText == "c")
      #expect(error?.offset == 13)
    }
  }

  @Test func `a key with 30 combining characters in a row is a key, and so is one with more of them apart`() throws {
    for key in [Self.marks(30), "a" + Self.marks(30) + "b" + Self.marks(30), String(repeating: "é", count: 1000)] {
      let data = try JSONCoder().encode([key: 1])
      #expect(try JSONCoder().decode([String: Int].self, from: data) == [key: 1])
      #expect(try JSONValue(json: data.bytes) == [key: 1])
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a raw value or an element of a set with more of them is an error, and a text is not`() throws {
    for value in [Self.hostile, "dark" + Self.hostile] {
      let text = try JSONCoder().encode(value)
      #expect(isRefused(try Shade(json: text.bytes)))
      for coder in [JSONCoder(), JSONCoder(keys: .snakeCase)] {
        #expect(isRefused(try coder.decode(Shade.self, from: text)))
        #expect(isRefused(try coder.decode(PlainShade.self, from: text)))
        #expect(isRefused(try coder.decode(Named.self, from: text)))
        #expect(isRefused(try coder.decode([Named].self, from: Data("[".utf8) + text + Data("]".utf8))))
        #expect(isRefused(try coder.decode(Set<String>.self, from: Data("[".utf8) + text + Data("]".utf8))))
        #expect(try coder.decode(String.self, from: text).utf8.elementsEqual(value.utf8))
        #expect(try coder.decode([String].self, from: Data("[".utf8) + text + Data("]".utf8)).count == 1)
      }
    }
    let coder = JSONCoder(keys: .snakeCase)
    #expect(try coder.decode(Set<String>.self, from: Data(#"["a","b","a"]"#.utf8)) == ["a", "b"])
    #expect(try coder.decode([PlainShade].self, from: Data(#"["dark","light"]"#.utf8)) == [.dark, .light])
    #expect(throws: DecodingError.self) { try coder.decode(PlainShade.self, from: Data(#""blue""#.utf8)) }
    #expect(throws: DecodingError.self) { try coder.decode(Set<String>.self, from: Data("1".utf8)) }
  }

  private struct Member: Encodable {
    let key: String
    var isNested = false
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: AnyKey.self)
      if isNested {
        _ = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey(stringValue: key))
      } else {
        try container.encode(1, forKey: AnyKey(stringValue: key))
      }
    }
  }

  @Test func `what is not read is not written`() throws {
    let key = Self.marks(32)
    #expect(throws: EncodingError.self) { try JSONCoder().encode([key: 1]) }
    #expect(throws: EncodingError.self) { try JSONCoder(keys: .snakeCase).encode([key: [1]]) }
    #expect(throws: EncodingError.self) { try JSONCoder().encode(JSONValue.object([key: 1])) }
    #expect(throws: JSONError.self) { try JSONValue.object([key: 1]).json() }
    let error = #expect(throws: EncodingError.self) { try JSONCoder().encode(["a": Member(key: key)]) }
    guard case .invalidValue(_, let context) = error else { return }
    #expect(context.codingPath.map(\.stringValue) == ["a"])
    #expect(throws: EncodingError.self) { try JSONCoder().encode(["a": Member(key: key, isNested: true)]) }
  }

  @Test func `members are sorted by the bytes of their names`() throws {
    let names = ["z", "é", "e\u{301}a", "", "a", "ab", "中", "😀", "\u{ffff}", "B"]
    let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let text = "{" + sorted.map { #""\#($0)":1"# }.joined(separator: ",") + "}"
    let members = Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
    #expect(try JSONCoder().encode(members) == Data(text.utf8))
    #expect(try JSONCoder(keys: .snakeCase).encode(members) == Data(text.utf8))
    #expect(try JSONValue.object(members.mapValues { .integer(Int64($0)) }).json() == Data(text.utf8))
  }
}
