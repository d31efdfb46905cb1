import BFFOperations
import GraphQLClient
import HTTPClientCore
import Streams
import TestSupport
import Testing

@Suite struct RealServerTests {
  /// The views of user 0's timeline, of which the server cannot tell those of each tenth moment.
  private struct ReadViews: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      struct Details: Decodable, Sendable {
        struct Moment: Decodable, Sendable {
          let viewCount: Int?
        }
        let moments: [Moment]
      }
      let getMomentsDetailsByUserID: Details
    }
    static let query: GraphQLDocument =
      "query readViews { getMomentsDetailsByUserID(userID: \"0\") { moments { viewCount } } }"
    var errorPolicy: GraphQLErrorPolicy
  }

  /// The moments whose views are unknown.
  private static let unknown = Array(stride(from: 7, to: 60, by: 10))

  @Test(arguments: [(GraphQLErrorPolicy.all, 6), (.ignore, 0)])
  func `G1: partial data comes with its errors or without them`(policy: GraphQLErrorPolicy, errorCount: Int)
    async throws
  {
    let client = try APIClient(baseURL: await BFFServer.shared().graphqlURL)
    let response = try await ReadViews(errorPolicy: policy).post(on: client).value
    let moments = response.data.getMomentsDetailsByUserID.moments
    #expect(moments.indices.filter { moments[$0].viewCount == nil } == Self.unknown)
    #expect(response.errors.count == errorCount)
    for (error, index) in zip(response.errors, Self.unknown) {
      #expect(error.pathText == "getMomentsDetailsByUserID.moments[\(index)].viewCount")
    }
  }

  @Test func `G1: partial data is by default a failure that names each place`() async throws {
    let client = try APIClient(baseURL: await BFFServer.shared().graphqlURL)
    let error = await #expect(throws: RequestError.self) {
      try await ReadViews(errorPolicy: .none).post(on: client).value
    }
    #expect(error?.kind == .graphQL)
    #expect(error?.graphQLErrors.count == Self.unknown.count)
  }

  @Test(.timeLimit(.minutes(1)))
  func `T7: a cancelled request ends its wait for a slow response, and the next request succeeds`() async throws {
    let server = try await BFFServer.start()
    let client = try APIClient(baseURL: server.graphqlURL)
    var slow = client
    try slow.defaultHeaders.set("X-Latency-Ms", to: "600000")
    slow.timeouts.total = nil
    let waiting = Task { [slow] in try await Ping().post(on: slow).value }
    try await eventually { try await server.stats().requests["/graphql"] != nil }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(try await Ping().post(on: client).value.data.getMomentsDetailsByUserID.moments.count == 5)
    #expect(try await server.stats().operations["ping"] == 1)
  }
}
