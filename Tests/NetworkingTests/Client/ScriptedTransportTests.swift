import Foundation
import HTTP
import JSON
import Networking
import NetworkingTesting
import Streams
import Testing

@Suite struct ScriptedTransportTests {
  private let transport = ScriptedTransport()

  private func request() throws -> HTTPRequest {
    try HTTPRequest(method: .get, url: #require(URL(string: "http://h.example/")))
  }

  private func status() async throws -> Int {
    try await transport.send(request()).collect(upTo: 9).value.head.status
  }

  @Test func `a matcher may ask the transport what it has seen`() async throws {
    let second = RequestMatcher("the second request") { [transport] _ in transport.requests.count == 2 }
    transport.expect(second, .response(status: 202))
    transport.always(.any, .response(status: 200))
    let statuses = try await [status(), status()]
    #expect(statuses == [200, 202])
    #expect(transport.failures.isEmpty)
  }

  @Test(arguments: [HTTPMethod.post, .get]) func `two requests for an operation are distinguished by their variables`(
    method: HTTPMethod
  ) async throws {
    struct GetUser: GraphQLSession {
      struct ResponseData: Decodable, Sendable {
        let name: String
      }
      static let query: GraphQLDocument = "query getUser($id: ID!) { name(id: $id) }"
      let variables: [String: String]
    }
    for (id, name) in [("7", "Wei"), ("8", "Mei")] {
      transport.expect(
        .operation("getUser", variables: ["id": .string(id)]), .json(#"{"data": {"name": "\#(name)"}}"#))
    }
    let client = try APIClient(baseURL: #require(URL(string: "https://h.example/")), transport: transport)
    for (id, name) in [("8", "Mei"), ("7", "Wei")] {
      #expect(try await GetUser(variables: ["id": id]).data(on: client, method: method).value.name == name)
    }
    #expect(transport.failures.isEmpty)
  }

  @Test func `an expectation that another request takes meanwhile counts once`() async throws {
    let request = try request()
    let isFirst = Locked(true)
    let matcher = RequestMatcher("once") { [transport] _ in
      let isFirst = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if isFirst { _ = transport.send(request).subscribe() }
      return true
    }
    transport.expect(matcher, .response(status: 202))
    transport.always(.any, .response(status: 200))
    #expect(try await status() == 200)
    #expect(transport.requests.count == 2 && transport.failures.isEmpty)
  }

  @Test func `a header that frames the message is refused, as by every transport`() async throws {
    transport.always(.any, .response())
    var request = try request()
    try request.headers.set("Connection", to: "close")
    let answer = transport.send(request).collect(upTo: 9)
    let error = await #expect(throws: RequestError.self) { _ = try await answer.value }
    #expect(error?.kind == .invalidRequest && transport.requests.isEmpty)
  }
}
