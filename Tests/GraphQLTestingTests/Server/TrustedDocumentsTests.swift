import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import Streams
import StrictJSON
import Testing

/// A server that takes the documents of a manifest, or the hashes of those that it has seen.
@Suite struct TrustedDocumentsTests {
  private struct Names: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let name: String }
    static let query: GraphQLDocument = "query names { name }"
  }

  private struct Others: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let other: Int }
    static let query: GraphQLDocument = "query others { other }"
  }

  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: "type Query { name(text: String): String! other: Int! user: User! } type User { id: ID! name: String! }")
  }

  private func client(_ server: TestServer, _ wire: GraphQLWire) throws -> APIClient {
    var client = try APIClient(baseURL: #require(URL(string: "https://example.com/graphql")), transport: server)
    client.graphQL.wire = wire
    return client
  }

  @Test func `a server with a manifest takes the ids of its documents, in every shape, and no others`() async throws {
    let manifest = try GraphQLManifest([Names.query])
    let server = TestServer(schema: schema, manifest: manifest)
    for shape in [TrustedDocumentShape.documentID, .apollo, .relay(parameter: "doc_id")] {
      for byGET in [false, true] {
        let client = try client(server, .trustedDocuments(shape, byGET: byGET))
        #expect(try await !Names().data(on: client).value.name.isEmpty)
        await #expect(throws: RequestError.self) { _ = try await Others().data(on: client).value }
      }
    }
    let refused = server.execute("query others { other }")
    #expect(refused.data != nil)
    let text = try client(server, .post)
    await #expect(throws: RequestError.self) { _ = try await Others().data(on: text).value }
    #expect(try await !Names().data(on: text).value.name.isEmpty)
  }

  @Test func `a server without a manifest knows a hash once it has come with its document`() async throws {
    let server = TestServer(schema: schema)
    let client = try client(server, .persistedQueries(byGET: false))
    for _ in 0..<2 { #expect(try await !Names().data(on: client).value.name.isEmpty) }
    #expect(server.requests.count == 3)
  }

  @Test func `in the address of a GET, a plus sign is a space`() throws {
    let server = TestServer(schema: schema)
    try server.resolve("Query.name") { $0.arguments["text"] ?? .null }
    let url = try #require(URL(string: "https://example.com/graphql?query=%7Bname(text:%22a+b%2Bc%22)%7D"))
    let response = server.respond(to: try HTTPRequest(method: .get, url: url))
    #expect(try JSONValue(json: String(decoding: response.body, as: UTF8.self))["data"]?["name"] == "a b+c")
  }

  @Test func `a member that the schema does not have is an error of the field that was resolved to it`() throws {
    let server = TestServer(schema: schema)
    try server.resolve("Query.user") { _ in ["id": "1", "nmae": "Wei"] }
    let result = server.execute("{ user { id name } }")
    #expect(
      result.errors.map(\.message) == [
        "Query.user was resolved to an object with \"nmae\", but User has no such field; did you mean name?"
      ])
    #expect(result.errors.first?.path == [.key("user")])
  }
}
