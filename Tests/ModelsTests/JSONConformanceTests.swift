import Foundation
import Models
import StrictJSON
import Testing

/// The models' own reading and writing of JSON, held to their `Codable` conformances.
@Suite struct JSONConformanceTests {
  private let decoder = JSONDecoder()
  private let encoder = JSONEncoder()

  @Test func `the fixture is read and written as by Codable`() throws {
    #expect(try MomentsDetails(json: Fixture.json.utf8.span.bytes) == Fixture.details)
    let written = try decoder.decode(MomentsDetails.self, from: Fixture.details.json())
    #expect(written == Fixture.details)
  }

  @Test func `random timelines are read and written as by Codable`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let details = MomentsDetails.random(using: &generator)
      #expect(try MomentsDetails(json: encoder.encode(details).bytes) == details)
      #expect(try decoder.decode(MomentsDetails.self, from: details.json()) == details)
      #expect(try MomentsDetails(json: details.json().bytes) == details)
    }
  }

  @Test func `random connections are read and written as by Codable`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      try expectBothWays(MomentsConnection.random(using: &generator))
    }
  }

  private func expectBothWays<Value: Codable & JSONDecodable & JSONEncodable & Equatable>(_ value: Value) throws {
    #expect(try Value(json: encoder.encode(value).bytes) == value)
    #expect(try decoder.decode(Value.self, from: value.json()) == value)
    #expect(try Value(json: value.json().bytes) == value)
    #expect(try JSONValue(json: encoder.encode(value).bytes) == JSONValue(json: value.json().bytes))
  }

  @Test func `members of connections that are changed are read, or refused, as by Codable`() throws {
    let moment = String(decoding: try encoder.encode(Fixture.details.moments[0]), as: UTF8.self)
    let info = #"{"hasNextPage":true,"hasPreviousPage":false}"#
    try expectSame(
      MomentsConnection.self,
      [("edges", #"[{"cursor":"c","node":\#(moment)}]"#), ("pageInfo", info), ("totalCount", "1")])
    try expectSame(MomentsConnection.Edge.self, [("cursor", "\"c\""), ("node", moment)])
    try expectSame(
      PageInfo.self,
      [("hasNextPage", "true"), ("hasPreviousPage", "false"), ("startCursor", "\"a\""), ("endCursor", "\"b\"")])
  }

  private func expectSame<Value: Decodable & JSONDecodable & Equatable>(
    _ type: Value.Type, _ members: [(String, String)]
  ) throws {
    let values = ["", "null", "1", "1.5", "1e30", "\"x\"", "true", "[]", "{}", "[null]", "[{}]"]
    for (index, member) in members.enumerated() {
      for value in values + [member.1] {
        var changed = members + [("unknown", "[{}]")]
        changed[index].1 = value
        let text = "{" + changed.filter { !$0.1.isEmpty }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        let expected = try? decoder.decode(type, from: Data(text.utf8))
        #expect((try? Value(json: text)) == expected, "\(text)")
      }
    }
  }

  /// Members that are there, null, left out, doubled, of another type or unknown: both ways say the same.
  @Test func `changed members are read, or refused, as by Codable`() throws {
    let values = [
      "null", "1", "-7", "1.5", "1e3", "\"x\"", "\"URL\"", "\"PHOTOS\"", "\"\\u0055RL\"", "\"NEW\"", "true", "[]", "{}",
      "[\"a\"]", "[null]", "[1]", #"{"name":"n","avatar":"a"}"#, #"[{"id":1,"avatar":"a"}]"#,
      "99999999999999999999999999999999999999", "100000000000000000000000000000000000000",
    ]
    let members = [
      ("id", "\"1\""), ("userDetails", #"{"name":"n","avatar":"a"}"#), ("type", "\"URL\""), ("title", "\"t\""),
      ("url", "\"u\""), ("photos", "[]"), ("createdDate", "\"0\""), ("isLiked", "true"),
      ("likes", #"[{"id":"1","avatar":"a"}]"#), ("unknown", "[{}]"),
    ]
    for (index, member) in members.enumerated() {
      for value in values + ["", member.1] {
        var changed = members
        changed[index].1 = value
        let text = "{" + changed.filter { !$0.1.isEmpty }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        let expected = try? decoder.decode(MomentsDetails.Moment.self, from: Data(text.utf8))
        let found = try? MomentsDetails.Moment(json: text)
        #expect(found == expected, "\(text)")
      }
    }
  }

  @Test func `a missing member is an error that names the path`() throws {
    let text = #"{"userDetails":{"id":1,"name":"n","avatar":"a","backgroundImage":"b"},"moments":[{"id":"1"}]}"#
    let error = try #require(throws: JSONError.self) { try MomentsDetails(json: text.utf8.span.bytes) }
    #expect(error.pathText == "moments[0].userDetails")
  }
}

extension MomentsDetails {
  fileprivate static func random(using generator: inout some RandomNumberGenerator) -> MomentsDetails {
    func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
    func text() -> String {
      let pieces = ["", "a", "中文", "\"", "\\", "\n", "😀", "é", "\u{1}", "https://example.com/a.png", " "]
      return (0..<number(0...3)).map { _ in pieces[number(0...(pieces.count - 1))] }.joined()
    }
    func optional<Value>(_ value: Value) -> Value? { number(0...2) == 0 ? nil : value }
    return MomentsDetails(
      userDetails: .init(id: text(), name: text(), avatar: text(), backgroundImage: text()),
      moments: (0..<number(0...4)).map { _ in
        Moment(
          id: text(), userDetails: .init(name: text(), avatar: text()),
          type: [.url, .photos, .unknown(text() + "?")][number(0...2)], title: optional(text()), url: optional(text()),
          photos: (0..<number(0...3)).map { _ in text() }, createdDate: text(), isLiked: optional(number(0...1) == 0),
          likes: optional((0..<number(0...3)).map { _ in .init(id: text(), avatar: text()) }))
      })
  }
}

extension MomentsConnection {
  fileprivate static func random(using generator: inout some RandomNumberGenerator) -> MomentsConnection {
    let details = MomentsDetails.random(using: &generator)
    return MomentsConnection(
      edges: details.moments.map { Edge(cursor: $0.createdDate, node: $0) },
      pageInfo: PageInfo(
        hasNextPage: .random(using: &generator), hasPreviousPage: .random(using: &generator),
        startCursor: details.moments.first?.title, endCursor: details.moments.last?.title),
      totalCount: .random(in: 0...99, using: &generator))
  }
}
