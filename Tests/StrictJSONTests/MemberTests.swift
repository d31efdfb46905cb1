import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct MemberTests {
  private struct Answer: JSONDecodable {
    let user: [Int]

    init(from json: inout JSONReader) throws(JSONError) {
      user = try json.readMember("user")
    }
  }

  @Test(arguments: [
    #"{"user":[1,2]}"#,
    #" { "before" : {"user":[9]} , "user" : [ 1 , 2 ] , "after" : ["user", {"user":null}] } "#,
    #"{"us\u0065r":[1,2]}"#,
    #"{"users":[3],"use":[4],"user":[1,2],"USER":[5]}"#,
    #"{"user":[7],"x":0,"user":[1,2]}"#,
  ])
  func `a member is read among others, the last of equal keys`(text: String) throws {
    #expect(try Answer(json: text).user == [1, 2])
  }

  @Test(arguments: [
    (#"{}"#, "At user (byte 1): a value is missing"),
    (#"{"other":[1]}"#, "At user (byte 12): a value is missing"),
    (#"{"user":null}"#, "At user (byte 8): expected an array, found null"),
    (#"{"user":[1,"2"]}"#, "At user[1] (byte 11): expected a whole number, found a string"),
    (#"{"user":["1"],"user":[1,2]}"#, "At user[0] (byte 9): expected a whole number, found a string"),
    (#"{"user":[1],"other":tru}"#, "At other (byte 20): expected true or false"),
    (#"{"user":[1]"#, "At user (byte 11): expected ',' or '}'"),
    (#"[{"user":[1]}]"#, "At byte 0: expected an object, found an array"),
    (#"null"#, "At byte 0: expected an object, found null"),
  ])
  func `an error tells what is wrong with a member, and where`(text: String, description: String) throws {
    let error = try #require(throws: JSONError.self) { try Answer(json: text) }
    #expect(error.description == description)
  }

  @Test func `a member that is missing is named with the path to its object`() throws {
    let text = #"{"a":[{"user":[]},{"usr":[]}]}"#
    let error = try #require(throws: JSONError.self) { try [String: [Answer]](json: text) }
    #expect(error.kind == .missing(key: "user"))
    #expect(error.path == [.key("a"), .index(1), .key("user")])
  }

  /// Names that are equal `String`s and other bytes.
  private static let (composed, decomposed) = ("\u{E9}", "e\u{301}")

  @Test(arguments: [0, 20], [JSONCoder(), JSONCoder(keys: .snakeCase)])
  func `members are found by their bytes, however many there are and whether escaped or not`(
    others: Int, coder: JSONCoder
  ) throws {
    let rest = (0..<others).map { #","x\#($0)":0"# }.joined()
    func found(_ json: String) throws -> [Int?] {
      try Asking.$names.withValue([Self.composed, Self.decomposed]) {
        try coder.decode(Asking.self, from: Data(json.utf8)).found
      }
    }
    for (composed, decomposed) in [(Self.composed, Self.decomposed), (#"\u00e9"#, #"e\u0301"#)] {
      #expect(try found(#"{"\#(composed)":1\#(rest)}"#) == [1, nil])
      #expect(try found(#"{"\#(decomposed)":2\#(rest)}"#) == [nil, 2])
      let both = #"{"\#(composed)":1,"\#(decomposed)":2\#(rest)}"#
      #expect(try found(both) == [1, 2])
      #expect(try coder.decode(Names.self, from: Data(both.utf8)).count == 2 + others)
    }
  }

  /// How many names a container tells.
  private struct Names: Decodable {
    let count: Int
    init(from decoder: any Decoder) throws {
      count = try decoder.container(keyedBy: AnyKey.self).allKeys.count
    }
  }

  /// Reads members one after the other, as a hand-written `init(from:)` may: in any order, some of them twice.
  private struct Asking: Decodable {
    @TaskLocal static var names: [String] = []
    let found: [Int?]

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: AnyKey.self)
      found = try Self.names.map { try container.decodeIfPresent(Int.self, forKey: AnyKey(stringValue: $0)) }
    }
  }

  @Test func `members are found in any order in which a type reads them`() throws {
    var random = SplitMix(seed: 7)
    for _ in 0..<2000 {
      // Names of all lengths that differ in one place.
      let length = Int.random(in: 1...20, using: &random)
      let names = (0..<Int.random(in: 1...24, using: &random)).map { index in
        let place = Int.random(in: 0..<length, using: &random)
        return String((0..<length).map { $0 == place ? Character(Unicode.Scalar(UInt8(97 + index))) : "-" })
      }
      // A third of the texts have equal keys.
      let once = names.filter { _ in Bool.random(using: &random) }
      let kept = once + once.prefix(Int.random(in: -1...1, using: &random) == 1 ? 2 : 0)
      let members = kept.enumerated().map { index, name in #""\#(name)":\#(index)"# }
      let asked = names + names.shuffled(using: &random)
      let data = Data("{\(members.joined(separator: ","))}".utf8)
      let found = try Asking.$names.withValue(asked) { try JSONCoder().decode(Asking.self, from: data).found }
      #expect(found == asked.map { kept.lastIndex(of: $0) }, "\(kept) \(asked)")
    }
  }
}
