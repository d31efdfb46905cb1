// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLSchema
import GraphQLTesting
import Models
import Networking
import Repository
import Streams
import StrictJSON
import Testing

enum ServerForTestsArticle {
  static func feature(_ schema: Schema, endpoint: URL) async throws {
    let server = TestServer(schema: schema)
    try server.resolve("UserDetails.name") { _ in "Wei" }
    let client = try APIClient(baseURL: endpoint, transport: server)
    let repo = MomentsRepo(sessions: MomentsSessions(client: client))
    let details = try await repo.getMoments(userID: "7").value
    #expect(details.userDetails.name == "Wei")
  }

  static func timeline(_ schema: Schema) throws -> JSONValue? {
    let server = TestServer(schema: schema)
    try server.resolve("Query.getMomentsDetailsByUserID") { request in
      ["userDetails": ["id": request.arguments["userID"] ?? .null], "moments": [["title": "Tea"], [:]]]
    }
    try server.fail("Moment.viewCount", "not counted", extensions: ["code": "LATER"])
    let query = "{ getMomentsDetailsByUserID(userID: 7) { userDetails { id } moments { title viewCount } } }"
    return server.execute(query).data?.json
  }
}
