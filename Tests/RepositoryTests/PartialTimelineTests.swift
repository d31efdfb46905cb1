import Foundation
import GraphQLClientTesting
import HTTPClientCore
import Models
import Networking
import Repository
import StoresTestSupport
import Streams
import Testing

@Suite struct PartialTimelineTests {
  private func repo(_ transport: ScriptedTransport, token: String = "token") throws -> MomentsRepo {
    var client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    try client.defaultHeaders.set("Authorization", to: "Bearer \(token)")
    return MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client),
      updateMomentLikeSession: UpdateMomentLikeSession(client: client))
  }

  @Test(arguments: ["null", #"{"getMomentsDetailsByUserID": null}"#])
  func `G2: errors without data fail the request, and leave what was kept as it was`(data: String) async throws {
    let transport = ScriptedTransport()
    let timeline = """
      {"userDetails": {"id": "7", "name": "Wei", "avatar": "", "backgroundImage": ""}, "moments": []}
      """
    transport.expect(.any, .json(#"{"data": {"getMomentsDetailsByUserID": \#(timeline)}}"#))
    transport.expect(.any, .json(#"{"data": \#(data), "errors": [{"message": "down"}]}"#))
    let repo = try repo(transport)
    let watcher = Recorder(repo.momentsDetails(userID: "7"))
    _ = try await repo.getMoments(userID: "7").value
    let error = await #expect(throws: RequestError.self) { try await repo.getMoments(userID: "7").value }
    #expect(error?.graphQLErrors.map(\.message) == ["down"])
    #expect(watcher.events == ["7 Wei"])
    let kept = try await repo.snapshots(userID: "7", policy: .cacheOnly).value
    #expect(kept.value?.userDetails.name == "Wei")
    #expect(transport.failures.isEmpty)
  }

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
    let repo = try repo(transport, token: token)
    let error = await #expect(throws: RequestError.self) { try await repo.getMoments(userID: "7").value }
    #expect(error?.kind == .graphQL)
    #expect(error?.operationName == "getMomentsDetailsByUserID")
    var shown = "\(String(describing: error)) \(String(reflecting: error)) "
    dump(error, to: &shown)
    #expect(shown.contains("bad header"))
    #expect(!shown.contains(token))
  }
}
