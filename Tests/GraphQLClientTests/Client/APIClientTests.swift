import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import Testing

@Suite struct APIClientTests {
  @Test(arguments: ["ftp://h", "/graphql", "http://u:p@127.0.0.1", "https://h/#f", "https://"])
  func `a base URL that no request can be sent to throws`(base: String) {
    let error = #expect(throws: RequestError.self) { try client(base: base) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test(arguments: ["http://example.com", "HTTP://example.com", "http://10.0.0.1", "http://localhost.example.com"])
  func `T9: clear text to another machine throws unless it is allowed`(base: String) throws {
    let error = #expect(throws: RequestError.self) { try client(base: base) }
    #expect(error?.kind == .invalidRequest)
    #expect(throws: Never.self) { try APIClient(baseURL: url(base), allowsCleartext: true) }
  }

  @Test(arguments: ["https://example.com", "http://localhost", "http://127.0.0.1:8080/graphql", "http://[::1]"])
  func `T9: TLS, or this machine, needs no leave`(base: String) {
    #expect(throws: Never.self) { try client(base: base) }
  }

  @Test func `T9: a session that leads to another machine in clear text sends nothing`() async throws {
    struct Elsewhere: APISession {
      typealias ResponseType = NoContent
      let responseParser = ResponseParser<NoContent>.noContent
      func makeRequest(_ call: APICall) throws -> HTTPRequest {
        try HTTPRequest(method: call.method, url: url("http://example.com/"))
      }
    }
    let transport = ScriptedTransport(always: .json("{}"))
    let error = await Elsewhere().get(on: try client(transport)).failure
    #expect(error?.kind == .invalidRequest)
    #expect(error?.operationName == "Elsewhere")
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: [
    ("https://h", "", "https://h"), ("https://h/api", "", "https://h/api"), ("https://h", "a", "https://h/a"),
    ("https://h/", "a", "https://h/a"), ("https://h/api", "/a/b", "https://h/api/a/b"),
    ("https://h/api/", "a/", "https://h/api/a/"), ("https://h/api?key=1", "a", "https://h/api/a?key=1"),
    ("https://h", "//evil.com/a", "https://h//evil.com/a"), ("https://h", "a:b@c", "https://h/a:b@c"),
    ("https://h", "%E6%97%A9%2F%3F%23", "https://h/%E6%97%A9%2F%3F%23"), ("https://h/a%20b", "c", "https://h/a%20b/c"),
  ])
  func `a path is appended to the base URL`(base: String, path: String, expected: String) async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    _ = try await Send(path: path, parameters: NoParameters()).get(on: client(transport, base: base)).value
    #expect(transport.onlyRequest?.url.absoluteString == expected)
  }

  @Test(arguments: [
    "a?b=c", "a#b", "a b", "早安", "%", "%2", "%zz", "a%", "..", "a/../b", ".", "a/./b", "../", "%2e%2e/a", "a/%2E./b",
    ".%2e", "%2E", "a\\b", "a\r\nb", "a\u{0}", "<", "\"", "[a]",
  ])
  func `a text that is no path, or leaves the base, throws and sends nothing`(path: String) async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    let error = await Send(path: path, parameters: NoParameters()).get(on: try client(transport)).failure
    #expect(error?.kind == .invalidRequest)
    #expect(!(error?.cause is WrongSettings))
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: ["/?&#", "早安", "a b", "%2F", "a+b", "é", "", "👩‍👩‍👧", "a/../b", "\r\n"])
  func `any text is one segment once it is percent-encoded`(id: String) async throws {
    let transport = ScriptedTransport(always: .json("{\"id\": 1, \"name\": \"\"}"))
    _ = try await GetUser(id: id).get(on: client(transport, base: "https://h")).value
    let path = try #require(transport.onlyRequest).url.path(percentEncoded: true)
    #expect(path.split(separator: "/", omittingEmptySubsequences: false).count == 3)
    #expect(path.dropFirst("/users/".count).removingPercentEncoding == id)
  }

  @Test func `default headers are added, and a session's own win`() async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    var client = try client(transport)
    client.defaultHeaders = ["X-A": "client", "X-B": "client"]
    _ = try await Send(headers: ["x-a": "session"], parameters: NoParameters()).get(on: client).value
    let headers = try #require(transport.onlyRequest).headers
    #expect(headers.values(of: "X-A") == ["session"])
    #expect(headers.values(of: "X-B") == ["client"])
  }

  @Test func `a client tells what it is in one field, unless its headers are others`() async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    _ = try await Send(parameters: NoParameters()).get(on: client(transport)).value
    let headers = try #require(transport.onlyRequest).headers
    #expect(headers.map(\.name).sorted() == ["Accept", "User-Agent"])
    #expect(headers["User-Agent"]?.hasPrefix("MomentsSDK/\(HTTPHeaders.sdkVersion) (linux ") == true)
    #expect(HTTPHeaders.userAgent(name: "a b", version: "1")["User-Agent"]?.hasPrefix("ab/1 (linux ") == true)
  }

  @Test func `a platform's fields tell its name, its version and the system's`() {
    let headers = HTTPHeaders.platform()
    #expect(headers["x-app-platform"] == "linux")
    #expect(headers["x-app-version"] == HTTPHeaders.sdkVersion)
    #expect(headers["x-os-version"]?.wholeMatch(of: #/\d+\.\d+\.\d+/#) != nil)
    #expect(headers["User-Agent"]?.hasPrefix("MomentsSDK/\(HTTPHeaders.sdkVersion) (linux ") == true)
  }

  @Test func `an application's name and version are made fit for a header`() {
    let headers = HTTPHeaders.platform(name: "My App/早安\r\nX: y", version: "1.2 beta\n")
    #expect(headers["User-Agent"]?.hasPrefix("MyAppXy/1.2beta (") == true)
    #expect(headers["x-app-version"] == "1.2beta")
    #expect(HTTPHeaders.platform(name: "", version: "早")["User-Agent"]?.hasPrefix("unknown/unknown (") == true)
  }

  @Test func `a client's settings may all be passed to its initializer, so that it can be a constant`() async throws {
    let client = try APIClient(
      baseURL: url("https://h"), transport: ScriptedTransport(always: .json(#"{"id": 7, "name": "Wei"}"#)),
      observer: RequestObservers([]), responseBodyLimit: 24, encoder: FoundationJSON(), decoder: FoundationJSON())
    let get: @Sendable () -> Observable<User> = { GetUser().get(on: client) }
    #expect(try await get().value == User())
    #expect(client.observer is RequestObservers)
    #expect(client.responseBodyLimit == 24)
    #expect(client.encoder is FoundationJSON)
    #expect(client.decoder is FoundationJSON)
  }

  @Test func `a session that makes its own request may use the same checked path below the base URL`() throws {
    let client = try client(base: "https://h/api?key=1")
    #expect(try client.url(forPath: "").absoluteString == "https://h/api?key=1")
    #expect(try client.url(forPath: "a/%2F").absoluteString == "https://h/api/a/%2F?key=1")
    #expect(throws: RequestError.self) { try client.url(forPath: "../a") }
  }

  @Test func `T3: a response over the client's limit is too large`() async throws {
    var client = try client(ScriptedTransport(always: .json("{\"a\": 1}")))
    client.responseBodyLimit = 7
    #expect(await Send(parameters: NoParameters()).get(on: client).failure?.kind == .tooLarge)
    client.responseBodyLimit = 8
    #expect(await Send(parameters: NoParameters()).get(on: client).failure?.kind == nil)
  }

  @Test func `the limit is 16 MiB unless set, and each request carries the timeouts`() async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    var client = try client(transport)
    #expect(client.responseBodyLimit == 16 << 20)
    client.timeouts = HTTPTimeouts(connect: .milliseconds(1), idle: nil, total: .milliseconds(3))
    _ = try await Send(parameters: NoParameters()).get(on: client).value
    #expect(transport.onlyRequest?.timeouts == client.timeouts)
  }

  @Test func `a session may have timeouts of its own`() async throws {
    struct Patient: APISession {
      typealias ResponseType = NoContent
      let timeouts: HTTPTimeouts? = HTTPTimeouts(total: nil)
    }
    struct PatientQuery: GraphQLSession {
      typealias ResponseData = NoContent
      static let query: GraphQLDocument = "{ a }"
      let timeouts: HTTPTimeouts? = HTTPTimeouts(total: nil)
    }
    let transport = ScriptedTransport(always: .json(#"{"data": {}}"#))
    _ = try await Patient().get(on: client(transport)).value
    _ = try await PatientQuery().post(on: client(transport)).value
    #expect(transport.requests.map(\.timeouts) == [HTTPTimeouts(total: nil), HTTPTimeouts(total: nil)])
  }
}
