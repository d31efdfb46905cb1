import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct QueryEncodingTests {
  private struct Scalars: Encodable, Sendable {
    var text = ""
    var yes = true
    var no = false
    var int = -7
    var least = Int64.min
    var greatest = UInt64.max
    var half = 0.5
    var date = Date(timeIntervalSince1970: 0)
    var missing: String?
    var absent: GraphQLNullable<String> = .absent
    var null: GraphQLNullable<String> = .null
  }

  private struct Nested: Encodable, Sendable {
    var inner = User()
  }

  private struct NestedList: Encodable, Sendable {
    var lists = [[1], [2]]
  }

  /// What one value comes out as, in a query and in a form.
  private func encoded(_ parameters: some Encodable & Sendable, base: String = "http://127.0.0.1") async throws
    -> (query: String?, form: String?)
  {
    let transport = ScriptedTransport(always: .json("{}"))
    let client = try client(transport, base: base)
    _ = try await Send(parameters: parameters).get(on: client).value
    _ = try await Send(parameters: parameters, bodyFormat: .form).post(on: client).value
    #expect(transport.requests.last?.headers["Content-Type"] == "application/x-www-form-urlencoded")
    return (transport.requests[0].query, transport.requests[1].bodyText)
  }

  @Test(arguments: [
    "a b", "a+b", "a&b=c", "50%", "#/?:@!$'()*,;[]", "早安 🌅", "\r\n\t\u{0}", "\"\\", "-._~", "é",
  ])
  func `reserved characters are percent-encoded, in names too`(text: String) async throws {
    let (query, form) = try await encoded([text: text])
    #expect(query == form)
    let parts = try #require(query).split(separator: "=", omittingEmptySubsequences: false)
    #expect(parts.count == 2)
    for part in parts {
      #expect(part.wholeMatch(of: #/([A-Za-z0-9._~-]|%[0-9A-F]{2})*/#) != nil)
      #expect(part.removingPercentEncoding == text)
    }
  }

  @Test func `scalars are written as text, and what is nil or null is left out`() async throws {
    let (query, form) = try await encoded(Scalars())
    #expect(query == form)
    #expect(
      query?.split(separator: "&") == [
        "date=1970-01-01T00%3A00%3A00Z", "greatest=18446744073709551615", "half=0.5", "int=-7",
        "least=-9223372036854775808", "no=false", "text=", "yes=true",
      ])
  }

  @Test func `a number keeps all of its digits`() async throws {
    let number = try #require(Decimal(string: "1234567890.12345678901234567890"))
    #expect(try await encoded(["n": [number, 0.1, 3]]).query == "n=1234567890.1234567890123456789&n=0.1&n=3")
  }

  @Test func `a list gives its name once for each element, in order`() async throws {
    let (query, _) = try await encoded(["b": ["2", "1"], "a": [], "c": ["x&y"]])
    #expect(query == "b=2&b=1&c=x%26y")
  }

  @Test func `empty parameters give no query`() async throws {
    #expect(try await encoded([String: Int]()).query == nil)
    #expect(try await encoded([String: Int]()).form == "")
  }

  @Test func `a query is added to the one that the base URL has`() async throws {
    struct Get: APISession {
      typealias ResponseType = NoContent
      let parameters = ["a": 1]
      let responseParser = ResponseParser<NoContent>.noContent
    }
    for (base, query) in [("https://h/?key=v", "key=v&a=1"), ("https://h/?", "a=1"), ("https://h", "a=1")] {
      let transport = ScriptedTransport(always: .json("{}"))
      _ = try await Get().get(on: client(transport, base: base)).value
      #expect(transport.onlyRequest?.query == query)
    }
  }

  @Test func `keys follow the client's strategy`() async throws {
    struct Parameters: Encodable, Sendable { var pageSize = 3 }
    let transport = ScriptedTransport(always: .json("{}"))
    var client = try client(transport)
    client.encoder = FoundationJSON(keys: .snakeCase)
    _ = try await Send(parameters: Parameters()).get(on: client).value
    #expect(transport.onlyRequest?.query == "page_size=3")
  }

  @Test func `parameters that are nested, or no object, are an error that says so, and are not sent`() async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    let client = try client(transport)
    for error in [
      await Send(parameters: Nested()).get(on: client).failure,
      await Send(parameters: Nested(), bodyFormat: .form).post(on: client).failure,
      await Send(parameters: NestedList()).get(on: client).failure,
    ] {
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains("nested") == true)
    }
    for error in [
      await Send(parameters: [1, 2]).get(on: client).failure, await Send(parameters: "a").get(on: client).failure,
    ] {
      #expect(error?.kind == .invalidRequest)
    }
    #expect(transport.requests.isEmpty)
  }
}
