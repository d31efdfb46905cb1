import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

/// A response is read straight from the bytes where its data can be, by way of `Codable` where not, or by Foundation:
/// all three say the same.
@Suite struct GraphQLDecodingTests {
  private struct Direct: GraphQLSession {
    struct ResponseData: Decodable, Hashable, Sendable, JSONDecodable {
      var count: Int
      var tags: [String]?

      init(from json: inout JSONReader) throws(JSONError) {
        var count: Int?
        try json.beginObject()
        while try json.nextKey() {
          if json.key(is: "count") {
            count = try json.read()
          } else if json.key(is: "tags") {
            tags = try json.read()
          } else {
            try json.skipValue()
          }
        }
        self.count = try json.require(count, "count")
      }
    }
    static let query: GraphQLDocument = "query get { count tags }"
    let errorPolicy = GraphQLErrorPolicy.all
  }

  private struct Generic: GraphQLSession {
    struct ResponseData: Decodable, Hashable, Sendable {
      var count: Int
      var tags: [String]?
    }
    static let query: GraphQLDocument = "query get { count tags }"
    let errorPolicy = GraphQLErrorPolicy.all
  }

  /// What came of an answer, in a form that can be compared.
  private func outcome<Session: GraphQLSession>(
    of json: String, _ session: Session, by decoder: any BodyDecoder, _ fields: (Session.ResponseData) -> [String]
  ) async throws -> [String] {
    var client = try client(ScriptedTransport(always: .json(json)))
    client.decoder = decoder
    do {
      let response = try await session.post(on: client).value
      return fields(response.data)
        + response.errors.map { "\($0) \($0.locations) \($0.extensions)" }
        + ["\(response.extensions as JSONValue?)"]
    } catch let error as RequestError {
      return ["\(error.kind)", (error.cause as? DecodingFailure)?.path ?? ""]
        + error.graphQLErrors.map { "\($0) \($0.locations)" }
    }
  }

  private static let data = [
    #"{"count":1}"#, #"{"tags":["a","b"],"count":2,"more":[{}]}"#, "null", #"{"tags":[1],"count":1}"#, "[]", "{}",
    #"{"count":1.5}"#,
  ]
  private static let errors = [
    "null", "[]",
    #"[{"message":"no","path":["a",0,"b"],"locations":[{"line":1,"column":2}],"extensions":{"code":"X"}}]"#,
    #"[{},7,null,{"message":7,"path":[null],"locations":7,"extensions":[]},{"message":"b","path":[1.5]}]"#, "{}", "7",
    "[\(Array(repeating: #"{"message":"x"}"#, count: 120).joined(separator: ","))]",
  ]

  @Test(arguments: [["data", "errors", "extensions"], ["extensions", "errors", "odd", "data"], ["errors", "data"]])
  func `members in any order are read the same in all the ways`(order: [String]) async throws {
    for data in Self.data {
      for errors in Self.errors {
        let members = ["data": data, "errors": errors, "extensions": #"{"cost":3}"#, "odd": "[{}]"]
        let json = "{" + order.map { #""\#($0)":\#(members[$0] ?? "")"# }.joined(separator: ", ") + "}"
        let direct = try await outcome(of: json, Direct(), by: JSONCoder()) { ["\($0.count) \($0.tags as [String]?)"] }
        let generic = try await outcome(of: json, Generic(), by: JSONCoder()) {
          ["\($0.count) \($0.tags as [String]?)"]
        }
        #expect(direct == generic, "\(json)")
        // Foundation does not say where 1.5 is no Int.
        guard !data.contains("1.5") else { continue }
        let theirs = try await outcome(of: json, Generic(), by: FoundationJSON()) {
          ["\($0.count) \($0.tags as [String]?)"]
        }
        #expect(direct == theirs, "\(json)")
      }
    }
  }

  @Test(arguments: [
    (#"{"data":{"count":2},"data":{"count":1}}"#, ["1 nil", "nil"]),
    (#"{"data":7,"data":{"count":1}}"#, ["1 nil", "nil"]),
    (#"{"data":{"count":2,"count":1}}"#, ["1 nil", "nil"]),
    (#"{"data":{"count":1},"data":null}"#, ["not decodable", "data"]),
    (#"{"data":{"count":1},"data":{"count":"1"}}"#, ["not decodable", "data.count"]),
    (#"{"errors":[{"message":"no"}],"data":{"count":1},"errors":[]}"#, ["1 nil", "nil"]),
    (#"{"errors":[{"message":"no"}],"data":{"count":1},"errors":null}"#, ["1 nil", "nil"]),
    (#"{"errors":[],"data":{"count":1},"errors":[{"message":"no"}]}"#, ["1 nil", "no [] [:]", "nil"]),
    (#"{"errors":[{"message":"a"}],"data":null,"errors":[{"message":"b"}]}"#, ["GraphQL", "", "b []"]),
  ])
  func `the last of equal members counts in all ways`(json: String, expected: [String]) async throws {
    let fields = { "\($0 as Int) \($1 as [String]?)" }
    #expect(try await outcome(of: json, Direct(), by: JSONCoder()) { [fields($0.count, $0.tags)] } == expected)
    #expect(try await outcome(of: json, Generic(), by: JSONCoder()) { [fields($0.count, $0.tags)] } == expected)
    // Inside data, the first counts for Foundation.
    guard !json.contains(#""count":2,"count""#) else { return }
    #expect(try await outcome(of: json, Generic(), by: FoundationJSON()) { [fields($0.count, $0.tags)] } == expected)
  }

  @Test func `T4: data nested too deep is an error, whatever errors are beside it`() async throws {
    let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    for json in [#"{"data":{"count":1,"x":\#(deep)}}"#, #"{"x":\#(deep),"errors":[{"message":"a"}]}"#] {
      let error = await Direct().post(on: try client(ScriptedTransport(always: .json(json)))).failure
      #expect(error?.kind == .undecodable)
    }
  }

  @Test func `G7: an error in data that is read straight names its path`() async throws {
    let json = #"{"extensions":{},"data":{"tags":["a"],"count":99999999999999999999}}"#
    let error = await Direct().post(on: try client(ScriptedTransport(always: .json(json)))).failure
    #expect((error?.cause as? DecodingFailure)?.path == "data.count")
    #expect(error?.message == "At data.count: expected a whole number that fits Int")
  }

  @Test func `data may be kept as the server's own bytes`() async throws {
    struct Raw: GraphQLSession {
      typealias ResponseData = RawJSON
      static let query: GraphQLDocument = "query get { count }"
    }
    let client = try client(ScriptedTransport(always: .json(#"{"data": {"count" : 1.0, "a":"\u0062"} }"#)))
    let data = try await Raw().post(on: client).value.data
    #expect(String(decoding: data.bytes, as: UTF8.self) == #"{"count" : 1.0, "a":"\u0062"}"#)
  }

  @Test func `a body is written in order, its document escaped`() async throws {
    struct Escaped: GraphQLSession {
      struct Variables: Encodable, Sendable, JSONEncodable {
        var title: String

        func encode(to json: inout JSONWriter) {
          json.beginObject()
          json.write("title", title)
          json.endObject()
        }
      }
      typealias ResponseData = NoContent
      static let query: GraphQLDocument = """
        query get($title: String) { a(title: $title, b: "\\n") }
        """
      let variables: Variables
      let extensions: JSONValue? = ["v": 1]
    }
    let expected =
      #"{"query":"query get($title: String) { a(title: $title, b: \"\\n\") }","operationName":"get","#
      + #""variables":{"title":"早\n"},"extensions":{"v":1}}"#
    let transport = ScriptedTransport(always: .json(#"{"data":{}}"#))
    _ = try await Escaped(variables: .init(title: "早\n")).post(on: client(transport)).value
    #expect(transport.requests.first?.body.map { String(decoding: $0, as: UTF8.self) } == expected)
    var client = try client(transport)
    for encoder in [FoundationJSON(), JSONCoder(keys: .snakeCase)] as [any BodyEncoder] {
      client.encoder = encoder
      _ = try await Escaped(variables: .init(title: "早\n")).post(on: client).value
      let body = try #require(transport.requests.last?.body)
      #expect(try JSONValue(json: body.bytes)["query"]?.stringValue == Escaped.query.text)
    }
  }
}
