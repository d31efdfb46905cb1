import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import SystemBase
import Testing

/// S3: a token that a server sends back is found in no error and in no log.
@Suite struct SecretTests {
  private enum CodeMsgData: EnvelopeKeys {
    static let code = "code"
    static let message = "msg"
    static let content = "data"
  }

  private struct Wrapped: APISession {
    typealias ResponseType = User
    let responseParser = ResponseParser<User>.envelope(CodeMsgData.self)
  }

  private struct Numbers: APISession {
    typealias ResponseType = [String: Int]
  }

  private struct Color: APISession {
    enum ResponseType: String, Decodable, Sendable { case red }
  }

  private struct Query: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let user: [String: User]? }
    static let query: GraphQLDocument = "query getUser { user { name } }"
  }

  /// Adds the token on the way out, as one that signs requests does.
  private struct AddToken: HTTPMiddleware {
    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      var request = request
      do throws(RequestError) {
        try request.headers.set("Authorization", to: "Bearer \(canary)")
      } catch {
        return .error(error)
      }
      return next(request)
    }
  }

  /// Where a request gets its token from.
  private enum Place: CaseIterable {
    case defaultHeaders, middleware
  }

  private let log = Locked<[String]>([])

  private func client(_ answer: ScriptedResponse, _ place: Place) throws -> APIClient {
    var client = try GraphQLClientTestSupport.client(ScriptedTransport(always: answer))
    switch place {
    case .defaultHeaders: try client.defaultHeaders.set("Authorization", to: "Bearer \(canary)")
    case .middleware: client.middlewares = [AddToken()]
    }
    client.middlewares.append(LoggingMiddleware(detail: .headers) { [log] line in log.withLock { $0.append(line) } })
    return client
  }

  /// Checks that all of an error, its cause and the log are free of the token and of most of it.
  private func check(
    _ error: RequestError?, _ kind: RequestError.Kind, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard let error else {
      Issue.record("There was no error.", sourceLocation: sourceLocation)
      return
    }
    #expect(error.kind == kind, sourceLocation: sourceLocation)
    let shown = everythingShown(of: error) + everythingShown(of: error.graphQLErrors) + log.withLock { $0.joined() }
    #expect(!shown.contains(canary.prefix(12)), sourceLocation: sourceLocation)
  }

  private static let echo = "You sent 'Bearer \(canary)', and \(canary) is no good."

  @Test func `S3: a response that is a secret itself is not quoted`() async throws {
    struct LogIn: APISession {
      struct ResponseType: Decodable, Sendable { let token: String, isGood: Bool }
      let isResponseSecret = true
    }
    let answer = ScriptedResponse.json(#"{"token": "\#(canary)"}"#)
    let error = await LogIn().post(on: try client(answer, .middleware)).failure
    check(error, .undecodable)
    #expect(error?.excerpt == nil)
  }

  @Test(arguments: [401, 500])
  func `S3: echoed in the body of an HTTP error`(status: Int) async throws {
    for place in Place.allCases {
      let client = try client(.response(status: status, body: Data(Self.echo.utf8)), place)
      check(await GetUser().get(on: client).failure, .httpStatus)
      check(await Query().post(on: client).failure, .httpStatus)
    }
  }

  @Test(arguments: [300, 3_000])
  func `S3: echoed beside a query of very many values, which take no token's place`(count: Int) async throws {
    struct GetUsers: APISession {
      typealias ResponseType = NoContent
      let parameters: [String: [String]]
    }
    let session = GetUsers(parameters: ["id": (0..<count).map { "user-\(1000 + $0)-id" }])
    for place in Place.allCases {
      let client = try client(.response(status: 400, body: Data("\(Self.echo) user-1000-id".utf8)), place)
      let error = await session.get(on: client).failure
      check(error, .httpStatus)
      #expect(error?.excerpt?.contains("user-1000") == false)
    }
  }

  @Test func `S3: echoed in header fields`() async throws {
    var headers: HTTPHeaders = ["Content-Type": "application/json"]
    for name in ["Server", "Via", "Location", "WWW-Authenticate", "Set-Cookie"] {
      try headers.set(name, to: Self.echo)
    }
    for place in Place.allCases {
      check(await GetUser().get(on: try client(.response(status: 401, headers: headers), place)).failure, .httpStatus)
      let redirect = await GetUser().get(on: try client(.response(status: 302, headers: headers), place)).failure
      check(redirect, .redirectRefused)
    }
    let location = ScriptedResponse.response(status: 302, headers: try target("https://h/\(canary)?a=\(canary)"))
    check(await GetUser().get(on: try client(location, .defaultHeaders)).failure, .redirectRefused)
    let type = ScriptedResponse.response(headers: try target(canary, name: "Content-Type"), body: Data("{}".utf8))
    check(await GetUser().get(on: try client(type, .defaultHeaders)).failure, .undecodable)
  }

  private func target(_ value: String, name: String = "Location") throws -> HTTPHeaders {
    var headers = HTTPHeaders()
    try headers.set(name, to: value)
    return headers
  }

  @Test func `S3: echoed in an envelope's message, and as its code`() async throws {
    for place in Place.allCases {
      let message = ScriptedResponse.json("{\"code\": 7, \"msg\": \"\(Self.echo)\"}")
      check(await Wrapped().get(on: try client(message, place)).failure, .rejected)
      let code = ScriptedResponse.json("{\"code\": \"\(Self.echo)\", \"msg\": \"\"}")
      check(await Wrapped().get(on: try client(code, place)).failure, .rejected)
    }
  }

  @Test func `S3: echoed as a key and as a value that do not fit`() async throws {
    for place in Place.allCases {
      check(await Numbers().get(on: try client(.json("{\"\(Self.echo)\": true}"), place)).failure, .undecodable)
      check(await Color().get(on: try client(.json("\"\(Self.echo)\""), place)).failure, .undecodable)
      check(await GetUser().get(on: try client(.json(Self.echo), place)).failure, .undecodable)
      let data = ScriptedResponse.json("{\"data\": {\"user\": {\"\(Self.echo)\": 1}}}")
      check(await Query().post(on: try client(data, place)).failure, .undecodable)
    }
  }

  @Test func `S3: echoed in each member of a GraphQL error`() async throws {
    let error = """
      {"message": "\(Self.echo)", "path": ["\(Self.echo)", 0], "extensions": {
        "code": "\(Self.echo)", "\(Self.echo)": 1, "list": ["\(Self.echo)", {"\(Self.echo)": "\(Self.echo)"}]}}
      """
    for place in Place.allCases {
      let client = try client(.json("{\"data\": null, \"errors\": [\(error), \(error)]}"), place)
      check(await Query().post(on: client).failure, .graphQL)
    }
  }

  @Test func `S3: echoed in the errors beside data, which an error policy lets through`() async throws {
    struct Partial: GraphQLSession {
      typealias ResponseData = [String: User]
      static let query: GraphQLDocument = "query getUser { user { id name } }"
      let errorPolicy = GraphQLErrorPolicy.all
    }
    let error = #"{"message": "\#(Self.echo)", "path": ["\#(Self.echo)"], "extensions": {"code": "\#(Self.echo)"}}"#
    let answer = ScriptedResponse.json(#"{"data": {"user": {"id": 7, "name": "Wei"}}, "errors": [\#(error)]}"#)
    for place in Place.allCases {
      let response = try await Partial().post(on: try client(answer, place)).value
      #expect(response.data == ["user": User()])
      #expect(!everythingShown(of: response).contains(canary.prefix(12)))
      let error = response.error
      check(error, .graphQL)
      #expect(error?.operationName == "getUser")
    }
  }

  @Test func `S3: echoed where a message is cut`() async throws {
    for length in stride(from: 990, through: 1030, by: 3) {
      let text = String(repeating: "x", count: length) + canary
      let graphQL = try client(.json("{\"errors\": [{\"message\": \"\(text)\"}]}"), .defaultHeaders)
      check(await Query().post(on: graphQL).failure, .graphQL)
      let envelope = try client(.json("{\"code\": 7, \"msg\": \"\(text)\"}"), .defaultHeaders)
      check(await Wrapped().get(on: envelope).failure, .rejected)
    }
  }

  @Test func `S3: echoed in the error of a transport or a middleware`() async throws {
    let failure = RequestError(.badResponse, Self.echo, excerpt: Self.echo)
    for place in Place.allCases {
      check(await GetUser().get(on: try client(.failure(failure), place)).failure, .badResponse)
    }
  }

  @Test func `S3: a session's secrets are in no log, wherever the server echoes them`() async throws {
    struct LogIn: APISession {
      typealias ResponseType = User
      let secrets = ["sesame \(canary)"]
    }
    var headers: HTTPHeaders = ["Content-Type": "application/json"]
    for name in ["Server", "Via", "ETag"] { try headers.set(name, to: "no 'sesame \(canary)' here, \(canary)") }
    for answer in [
      ScriptedResponse.response(status: 401, headers: headers), .failure(RequestError(.badResponse, Self.echo)),
    ] {
      let transport = ScriptedTransport(always: answer)
      var client = try GraphQLClientTestSupport.client(transport)
      client.middlewares = [
        LoggingMiddleware(detail: .headers) { [log] line in log.withLock { $0.append(line) } }
      ]
      _ = await LogIn().get(on: client).failure
      #expect(!everythingShown(of: transport.requests).contains(canary))
    }
    let shown = log.withLock { $0.joined() }
    #expect(shown.contains("Server: no '<redacted>' here, <redacted>"))
    #expect(!shown.contains(canary))
  }

  @Test func `S4: the token travels in its header alone`() async throws {
    let transport = ScriptedTransport(always: .json("{}"))
    var client = try client(.json("{}"), .middleware)
    client.transport = transport
    _ = await Query().get(on: client).failure
    _ = await Query().post(on: client).failure
    for request in transport.requests {
      #expect(request.headers["Authorization"] == "Bearer \(canary)")
      #expect(!request.url.absoluteString.contains(canary))
      #expect(request.bodyText?.contains(canary) != true)
      #expect(!everythingShown(of: request).contains(canary))
    }
    #expect(transport.requests.count == 2)
    #expect(!everythingShown(of: client).contains(canary))
  }
}
