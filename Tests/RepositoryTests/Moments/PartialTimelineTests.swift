import Foundation
import HTTP
import Networking
import NetworkingTesting
import Repository
import Streams
import Testing

@Suite struct PartialTimelineTests {
  @Test func `S3: a partial timeline's error names its operation, and holds no token that the server sent back`()
    async throws
  {
    let token = "canary-4b5c6d7e8f"
    let transport = ScriptedTransport()
    transport.always(
      .any,
      .json(
        """
        {"data": {"getMomentsDetailsByUserID": {
          "userDetails": {"id": "7", "name": "Wei", "avatar": "", "backgroundImage": ""}, "moments": []}},
         "errors": [{"message": "bad header 'Bearer \(token)'"}]}
        """))
    let baseURL = try #require(URL(string: "http://127.0.0.1/graphql"))
    var client = try APIClient(baseURL: baseURL, transport: transport)
    try client.defaultHeaders.set("Authorization", to: "Bearer \(token)")
    let repo = MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client),
      updateMomentLikeSession: UpdateMomentLikeSession(client: client))
    let error = await #expect(throws: RequestError.self) { try await repo.getMoments(userID: "7").value }
    #expect(error?.kind == .graphQL)
    #expect(error?.operationName == "getMomentsDetailsByUserID")
    var shown = "\(String(describing: error)) \(String(reflecting: error)) "
    dump(error, to: &shown)
    #expect(shown.contains("bad header") && !shown.contains(token))
  }
}
