import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import Streams
import StrictJSON
import Testing

/// Numbers of responses that go through `JSONValue`, beside the same ones read from the bytes.
@Suite struct IncrementalNumberTests {
  private struct Numbers: Decodable, Hashable, Sendable {
    let exact: Decimal
    let big: UInt64
    let whole: Int
    let double: Double
    let float: Float
    let id: Digits
  }

  /// A scalar that keeps the text of a number.
  private struct Digits: Decodable, Hashable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
      text = try "\(decoder.singleValueContainer().decode(Decimal.self))"
    }
  }

  private struct Plain: GraphQLSession {
    struct ResponseData: Decodable, Hashable, Sendable { let numbers: Numbers }
    static let query: GraphQLDocument = "query a { numbers { exact big whole double float id } }"
  }

  private struct Deferring: GraphQLSession {
    typealias ResponseData = Plain.ResponseData
    static let query: GraphQLDocument =
      "query a { numbers { exact big whole double float id ... @defer { never } } }"
  }

  private static let numbers = #"""
    {"exact": 1234567890123456.123456789, "big": 18446744073709551615, "whole": 1e2, "double": 0.30000000000000004,
    "float": 16777217.5, "id": 12345678901234567890123456789012345678, "never": 1e400}
    """#

  private func client(_ response: ScriptedResponse) throws -> APIClient {
    try GraphQLClientTestSupport.client(ScriptedTransport(always: response))
  }

  @Test func `G10: numbers of a response in parts are those of the response without the directives`() async throws {
    let json = #"{"data": {"numbers": \#(Self.numbers)}}"#
    let plain = try await Plain().data(on: client(.json(json))).value
    #expect(plain.numbers.big == .max)
    #expect(plain.numbers.exact == Decimal(string: "1234567890123456.123456789"))
    #expect(try await Deferring().data(on: client(.json(json))).value == plain)
    let parts =
      "--b\r\nContent-Type: application/json\r\n\r\n{\"data\": {\"numbers\": {\"id\": 12345678901234567890123456789012345678}},"
      + " \"hasNext\": true}\r\n--b\r\nContent-Type: application/json\r\n\r\n{\"incremental\": [{\"path\": [\"numbers\"],"
      + " \"data\": \(Self.numbers)}], \"hasNext\": false}\r\n--b--"
    let inParts = ScriptedResponse.response(
      headers: ["Content-Type": "multipart/mixed; boundary=b"], body: Data(parts.utf8))
    struct Optionals: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let numbers: [String: JSONNumber] }
      static let query: GraphQLDocument = "query a { numbers { id ... @defer { exact big whole double float } } }"
    }
    let merged = try await Optionals().data(on: client(inParts)).value.numbers
    #expect(merged == (try [String: JSONNumber](json: Self.numbers)))
    #expect(merged["never"]?.text == "1e400")
  }

  @Test func `G10: a number that nobody reads fails nothing, in the data or the extensions`() async throws {
    struct Big: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let big: Int }
      static let query: GraphQLDocument = "query a { big }"
      var errorPolicy: GraphQLErrorPolicy { .all }
    }
    let json =
      #"{"data": {"big": 1, "x": 1e400}, "extensions": {"cost": 1e400}, "errors": [{"message": "m", "extensions": {"n": 1e400}}]}"#
    let response = try await Big().post(on: client(.json(json))).value
    #expect(response.data.big == 1)
    #expect(response.extensions?["cost"] == JSONNumber("1e400").map { JSONValue($0) })
    #expect(response.errors.first?.extensions["n"]?.numberValue == nil)
  }

  @Test func `a request is matched by the values of its variables, however exact`() throws {
    let request = { (number: String) throws -> HTTPRequest in
      var request = try HTTPRequest.post(#"{"query": "query a { x }", "variables": {"n": \#(number)}}"#)
      request.operationName = "a"
      return request
    }
    let exact = RequestMatcher.operation("a", variables: ["n": try JSONValue(json: "18446744073709551615")])
    #expect(exact.matches(try request("18446744073709551615")))
    #expect(!exact.matches(try request("18446744073709551614")))
    let whole = RequestMatcher.operation("a", variables: ["n": 1])
    #expect(whole.matches(try request("1.0")))
    #expect(!whole.matches(try request("1.0000000000000000001")))
  }
}
