import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import Streams
import StrictJSON
import Testing

@Suite struct TestServerSubscriptionTests {
  private let server: TestServer
  private let client: APIClient

  init() throws {
    server = TestServer(
      schema: try Schema(parsing: "type Query { a: Int } type Subscription { ticked(from: Int!): Int! }"))
    // A client's subscriptions are event streams by default.
    client = try APIClient(baseURL: #require(URL(string: "https://h.example/")), transport: server)
  }

  @Test func `a client's subscription gets the events that the closure returns, and completes`() async throws {
    try server.resolve("Subscription.ticked") { request in
      let first = request.arguments["from"]?.integerValue ?? 0
      return [.integer(first), .integer(first + 1)]
    }
    var ticks: [Int] = []
    for try await data in Ticked(variables: .init(from: 7)).data(on: client).values { ticks.append(data.ticked) }
    #expect(ticks == [7, 8])
    #expect(server.requests.count == 1)
  }

  @Test func `a subscription that the server cannot begin fails with its error`() async throws {
    try server.fail("Subscription.ticked", "nothing ticks")
    await #expect { try await Ticked(variables: .init(from: 7)).data(on: client).value } throws: { error in
      (error as? RequestError)?.graphQLErrors.map(\.message) == ["nothing ticks"]
    }
  }
}

private struct Ticked: GraphQLSubscription {
  struct Variables: Encodable, Sendable { let from: Int }
  struct ResponseData: Decodable, Sendable { let ticked: Int }
  static let query: GraphQLDocument = "subscription ticked($from: Int!) { ticked(from: $from) }"
  let variables: Variables
}
