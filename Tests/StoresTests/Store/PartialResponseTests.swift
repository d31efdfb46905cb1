import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import Testing

/// A response in parts, on its way into a store.
@Suite struct PartialResponseTests {
  private struct GetLikes: GraphQLSession {
    struct ResponseData: Codable, Sendable, Equatable {
      let name: String
      let likes: Int?
    }
    static let query: GraphQLDocument = "query likes { name ... @defer { likes } }"
  }

  private static let first = #"{"data":{"name":"Wei"},"pending":[{"id":"0","path":[]}],"hasNext":true}"#
  private static let last = #"{"incremental":[{"id":"0","data":{"likes":7}}],"completed":[{"id":"0"}],"hasNext":false}"#

  private static func response(_ payloads: String...) -> ScriptedResponse {
    let parts = payloads.map { "\r\n---\r\nContent-Type: application/json\r\n\r\n\($0)" }
    let end = payloads.count == 2 ? "\r\n-----\r\n" : ""
    return .response(
      headers: ["Content-Type": "multipart/mixed; boundary=\"-\""], body: Data((parts.joined() + end).utf8))
  }

  @Test func `G10: a store keeps a response in parts once it is complete, and nothing of one that was cut`()
    async throws
  {
    let transport = ScriptedTransport()
    let truth = MemoryTruth<String, GetLikes.ResponseData>()
    let client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    let store = Store<String, GetLikes.ResponseData>(
      .ofStream { _ in GetLikes().data(on: client) }, storage: .source(truth))
    transport.expect(.any, Self.response(Self.first))
    let error = await #expect(throws: RequestError.self) { try await store.get("a", .networkOnly).value }
    #expect(error?.kind == .connectionLost)
    let kept = error?.cause as? IncompleteResponse<GetLikes.ResponseData>
    #expect(kept?.response.data == GetLikes.ResponseData(name: "Wei", likes: nil))
    #expect(truth.read("a") == nil)
    await #expect(throws: (any Error).self) { try await store.get("a", .cacheOnly).value }
    transport.expect(.any, Self.response(Self.first, Self.last))
    #expect(try await store.get("a", .networkOnly).value.value == GetLikes.ResponseData(name: "Wei", likes: 7))
    #expect(truth.read("a")?.value == GetLikes.ResponseData(name: "Wei", likes: 7))
  }
}
