import Foundation
import GraphQLValues
import StrictJSON
import Testing

@Suite struct GraphQLIDTests {
  /// Reads its id by both ways: from bytes, and by `Codable`.
  private struct Liker: Decodable, JSONDecodable {
    let id: String

    enum CodingKeys: CodingKey { case id }

    init(id: String) { self.id = id }

    init(from decoder: any Decoder) throws {
      id = try decoder.container(keyedBy: CodingKeys.self).decodeID(forKey: .id)
    }

    init(from json: inout JSONReader) throws(JSONError) {
      var id: String?
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "id") { id = try json.readID() } else { try json.skipValue() }
      }
      self.init(id: try json.require(id, "id"))
    }
  }

  private func id(_ json: String) throws -> String {
    try JSONDecoder().decode(
      Liker.self, from: Data(#"{"id": \#(json), "avatar": ""}"#.utf8)
    ).id
  }

  @Test(arguments: ["0", "m0-7", "a/b?c=d&e#f", "早安", "", "👩‍👩‍👧", "007", "1e3", " "])
  func `an id that is a string stays as it is`(text: String) throws {
    let json = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
    #expect(try id(json) == text)
  }

  @Test(arguments: [
    "0", "7", "-7", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "18446744073709551615", "123456789012345678901234567890", "99999999999999999999999999999999999999", "1.5",
  ])
  func `an id that is a number is read as its text`(number: String) throws {
    #expect(try id(number) == number)
  }

  @Test(arguments: ["1234567890123456789012345678901234567890123", "1000000000000000000000000000000000000000001"])
  func `an id too big to be kept to the last digit is an error, not another id`(number: String) {
    #expect(throws: DecodingError.self) { try id(number) }
  }

  @Test(arguments: ["0e999", "-0e5", "0.0e99", "1e-400", "1e40", "12e-1", "1e2", "1.50"])
  func `an id that is a number is read the same by both ways`(number: String) {
    let text = #"{"id":\#(number),"avatar":""}"#
    let direct = try? Liker(json: text).id
    let coded = try? JSONCoder(keys: .snakeCase).decode(Liker.self, from: Data(text.utf8)).id
    #expect(direct == coded)
    #expect(!number.contains("0e") || direct == "0")
  }

  @Test(arguments: ["1.-5", "--5", "1e -5", "1. 77", "- 5", "1.\n2.5", "-", "01", "1.", "1e"])
  func `an id that is a malformed number is an error, not its valid part`(number: String) {
    #expect(throws: JSONError.self) { try Liker(json: #"{"id":\#(number),"avatar":""}"#) }
  }

  @Test func `an id that would take long to be compared is an error by both ways`() {
    for (count, isRead) in [(15, true), (16, false), (100_000, false)] {
      let text = #"{"id":"\#(String(repeating: "\u{301}\u{323}", count: count))","avatar":""}"#
      let direct = try? Liker(json: text)
      let coded = try? JSONCoder(keys: .snakeCase).decode(Liker.self, from: Data(text.utf8))
      #expect((direct != nil) == isRead)
      #expect((coded != nil) == isRead)
    }
  }

  @Test(arguments: ["true", "null", "[]", "{}", "[1]"])
  func `an id that is neither text nor number is an error that names the path`(json: String) throws {
    let error = #expect(throws: DecodingError.self) { try id(json) }
    let path =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context): context.codingPath.map(\.stringValue)
      default: [String]()
      }
    #expect(path == ["id"])
  }

  @Test func `ids that are numbers are read in one pass, however many there are`() throws {
    let liker = #"{"id":1,"avatar":"a"}"#
    let text = "[" + Array(repeating: liker, count: 50_000).joined(separator: ",") + "]"
    let likers = try [Liker](json: text)
    #expect(likers.count == 50_000)
    #expect(likers.allSatisfy { $0.id == "1" })
  }

  @Test func `an id too big is an error at its first digit`() throws {
    let long = String(repeating: "1", count: 43)
    let error = try #require(throws: JSONError.self) {
      try [Liker](json: #"[{"avatar":"a","id": \#(long)}]"#)
    }
    #expect(
      error.description == "At [0].id (byte 21): expected a string or a number of up to 38 digits, found a number")
  }
}
