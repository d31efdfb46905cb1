import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct GraphQLVariablesTests {
  private struct Input: Encodable, Sendable {
    var title: GraphQLNullable<String> = .absent
    var tags: GraphQLNullable<[String]> = .absent
    var inner: GraphQLNullable<Inner> = .absent
    var plain: String?

    struct Inner: Encodable, Sendable {
      var count: GraphQLNullable<Int> = .absent
      var at: GraphQLNullable<Date> = .absent
    }
  }

  private struct Save: GraphQLSession {
    struct Variables: Encodable, Sendable { var input: Input }
    typealias ResponseData = GetThing.ResponseData
    static let query: GraphQLDocument = "mutation save($input: Input!) { save(input: $input) { name } }"
    var variables: Variables
  }

  /// What is sent as the variable `input`.
  private func sent(_ input: Input) async throws -> JSONValue? {
    let transport = ScriptedTransport(always: .wholeThing)
    _ = try await Save(variables: .init(input: input)).post(on: client(transport)).value
    return transport.onlyRequest?.bodyJSON?["variables"]?["input"]
  }

  @Test func `G8: an absent variable is not sent`() async throws {
    #expect(try await sent(Input()) == [:])
  }

  @Test func `G8: a null variable is sent as null`() async throws {
    let input = Input(title: .null, tags: .null, inner: .null)
    #expect(try await sent(input) == ["title": .null, "tags": .null, "inner": .null])
  }

  @Test func `G8: a value is sent, and absent and null are distinguished in it as well`() async throws {
    let input = Input(title: .some("t"), tags: .some([]), inner: .some(.init(count: .null)), plain: "p")
    #expect(try await sent(input) == ["title": "t", "tags": [], "inner": ["count": .null], "plain": "p"])
    let dates = Input(inner: .some(.init(at: .some(Date(timeIntervalSince1970: 0)))))
    #expect(try await sent(dates) == ["inner": ["at": "1970-01-01T00:00:00Z"]])
  }

  private struct Things<Variables: Encodable & Sendable>: GraphQLSession {
    typealias ResponseData = [String: String]
    static var query: GraphQLDocument { "query things($title: String) { things(title: $title) }" }
    let variables: Variables
  }

  private struct Optionally: Encodable, Sendable {
    var title: GraphQLNullable<String>? = .some(.absent)
  }

  @Test(arguments: [JSONCoder(), FoundationJSON()] as [any BodyEncoder])
  func `G8: an absent value where it cannot be left out is an error, and is not sent as null`(
    encoder: any BodyEncoder
  ) async throws {
    func expectFailure(_ variables: some Encodable & Sendable) async throws {
      let transport = ScriptedTransport(always: .wholeThing)
      var client = try client(transport)
      client.encoder = encoder
      let failure = await Things(variables: variables).post(on: client).failure
      #expect(failure?.kind == .invalidRequest)
      #expect(failure?.message.contains("title") == true)
      #expect(transport.requests.isEmpty)
    }
    try await expectFailure(["title": GraphQLNullable<String>.absent])
    try await expectFailure(Optionally())
    try await expectFailure(["titles": [GraphQLNullable<Int>.some(1), .null, .absent]])
  }

  @Test(arguments: [
    "\"}) { evil }", "$id", "\\", "\u{0}\n", "早安 \u{2028}", "#", "{", String(repeating: "a", count: 9999),
  ])
  func `G8: input travels as a variable, and the document stays the same`(title: String) async throws {
    let transport = ScriptedTransport(always: .wholeThing)
    _ = try await Save(variables: .init(input: Input(title: .some(title)))).post(on: client(transport)).value
    let body = try #require(transport.onlyRequest?.bodyJSON)
    #expect(body["query"]?.stringValue == Save.query.text)
    #expect(body["variables"]?["input"]?["title"]?.stringValue == title)
  }

  @Test func `variables that cannot be written are an invalid request that names the path`() async throws {
    struct Bad: GraphQLSession {
      struct Variables: Encodable, Sendable { var list = [0, Double.infinity] }
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "query bad($list: [Float!]!) { thing(list: $list) { name } }"
      let variables = Variables()
    }
    let transport = ScriptedTransport(always: .wholeThing)
    for error in [
      await Bad().post(on: try client(transport)).failure, await Bad().get(on: try client(transport)).failure,
    ] {
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains("list[1]") == true)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `a nullable value is made of a literal, and of an optional by what stands for none`() {
    #expect("a" == GraphQLNullable<String>.some("a"))
    #expect(Input(title: "t").title == .some("t"))
    #expect(Input.Inner(count: 7).count == .some(7))
    let (half, yes): (GraphQLNullable<Double>, GraphQLNullable<Bool>) = (0.5, true)
    #expect(half == .some(0.5))
    #expect(yes == .some(true))
    let (title, none): (String?, String?) = ("t", nil)
    #expect(Input(title: title ?? .null).title == .some("t"))
    #expect(Input(title: none ?? .null).title == .null)
    #expect(Input(title: none ?? .absent).title == .absent)
  }

  private struct Kept: Codable, Equatable, Sendable {
    var title: GraphQLNullable<String> = .absent
    var inner: GraphQLNullable<Inner> = .absent
    var tags: [GraphQLNullable<Int>] = []
    let count: GraphQLNullable<Int>

    struct Inner: Codable, Equatable, Sendable {
      var at: GraphQLNullable<Date> = .absent
    }
  }

  @Test(arguments: [
    Kept(count: .absent), Kept(title: .null, inner: .null, count: .null),
    Kept(title: "t", inner: .some(.init()), tags: [.null, 2], count: 7),
    Kept(inner: .some(.init(at: .some(Date(timeIntervalSince1970: 9)))), count: .null),
  ])
  private func `nullable values that were kept come back as they were, absent or null`(kept: Kept) throws {
    let coder = JSONCoder()
    #expect(try coder.decode(Kept.self, from: coder.encode(kept)) == kept)
    #expect(try JSONDecoder().decode(Kept.self, from: JSONEncoder().encode(kept)) == kept)
  }

  @Test func `a kept nullable value of a wrong type is an error that names its path`() {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Kept.self, from: Data(#"{"tags":[],"title":7}"#.utf8))
    }
    #expect(error.map { "\($0)" }?.contains("title") == true)
  }

  @Test func `nullable values are equal by what they are`() {
    #expect(GraphQLNullable.some(1) == .some(1))
    #expect(GraphQLNullable<Int>.absent != .null)
    #expect(Set<GraphQLNullable<Int>>([.absent, .null, .some(1), .some(1)]).count == 3)
  }
}
