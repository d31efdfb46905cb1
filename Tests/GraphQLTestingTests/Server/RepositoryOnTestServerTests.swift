import Foundation
import GraphQLSchema
import GraphQLTesting
import Models
import Networking
import Repository
import Streams
import StrictJSON
import TestSupport
import Testing

@Suite struct RepositoryOnTestServerTests {
  @Test func `a feature of a repository is tested without a fixture`() async throws {
    let sdl = RepositoryLayout.schema
    let server = TestServer(schema: try Schema(parsing: String(contentsOf: sdl, encoding: .utf8)))
    try server.resolve("UserDetails.name") { _ in "Wei" }
    let client = try APIClient(baseURL: #require(URL(string: "https://example.com/graphql")), transport: server)
    let repo = MomentsRepo(sessions: MomentsSessions(client: client))
    let details = try await repo.getMoments(userID: "7").value
    #expect(details.userDetails.name == "Wei")
    #expect(!details.moments.isEmpty)
    #expect(server.requests.count == 1)
  }
}
