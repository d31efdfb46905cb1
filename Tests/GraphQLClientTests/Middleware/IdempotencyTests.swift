import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Streams
import Testing

@Suite("requests that may be resent")
struct IdempotencyTests {
  private struct Query: GraphQLSession {
    struct ResponseData: Decodable, Sendable {}
    static let query: GraphQLDocument = "query q { a }"
  }

  private struct Mutation: GraphQLSession {
    struct ResponseData: Decodable, Sendable {}
    static let query: GraphQLDocument = "mutation m { a }"
    var idempotencyKey: String?
  }

  private struct Rest: APISession {
    typealias ResponseType = NoContent
    var idempotencyKey: String?
    var responseParser: ResponseParser<NoContent> { .noContent }
  }

  private func keys(_ send: (APIClient) -> Observable<some Sendable>) async throws -> [String?] {
    let transport = ScriptedTransport()
    transport.always(.any, .response(status: 503))
    let retry = RetryMiddleware(.exponential(attempts: 3, initial: .zero))
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport, middlewares: [retry])
    await #expect(throws: RequestError.self) { _ = try await send(client).value }
    return transport.requests.map(\.idempotencyKey)
  }

  @Test func `R1: queries and GETs are resent, without a key`() async throws {
    #expect(try await keys { Query().post(on: $0) } == [nil, nil, nil])
    #expect(try await keys { Query().get(on: $0) } == [nil, nil, nil])
    #expect(try await keys { Rest().get(on: $0) } == [nil, nil, nil])
  }

  @Test func `R1: mutations and other methods do not`() async throws {
    #expect(try await keys { Mutation().post(on: $0) } == [nil])
    #expect(try await keys { Rest().post(on: $0) } == [nil])
    #expect(try await keys { Rest().delete(on: $0) } == [nil])
  }

  @Test func `R1: mutations that are declared idempotent are resent, all attempts with one key`() async throws {
    let key = UUID().uuidString
    #expect(try await keys { Mutation(idempotencyKey: key).post(on: $0) } == [key, key, key])
    #expect(try await keys { Rest(idempotencyKey: key).put(on: $0) } == [key, key, key])
  }

  @Test func `R1: a key that is no header value is refused`() async throws {
    #expect(try await keys { Rest(idempotencyKey: "a\nb").put(on: $0) } == [])
  }
}
