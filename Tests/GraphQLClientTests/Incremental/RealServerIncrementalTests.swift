import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import Streams
import StrictJSON
import TestSupport
import Testing

/// A timeline whose moments come one by one, each with its likes and views later.
private struct GetTimeline: GraphQLSession {
  struct ResponseData: Decodable, Sendable, Equatable {
    let getMomentsDetailsByUserID: Timeline
  }
  struct Timeline: Decodable, Sendable, Equatable {
    let userDetails: User
    let moments: [Moment]
  }
  struct Moment: Decodable, Sendable, Equatable {
    let id: String
    let likes: Deferred<Likes>
  }
  struct Likes: Decodable, Sendable, Equatable {
    let likers: [User]
    let viewCount: Int?
  }
  struct User: Decodable, Sendable, Equatable {
    let name: String
  }
  struct Variables: Encodable, Sendable {
    let userID: String
    var isDeferred = true
  }
  static let query: GraphQLDocument = """
    query incrementalTimeline($userID: ID!, $isDeferred: Boolean!) {
      getMomentsDetailsByUserID(userID: $userID) {
        userDetails { name }
        moments @stream(initialCount: 1, if: $isDeferred) {
          id
          ... @defer(label: "likes", if: $isDeferred) { likers: likes { name } viewCount }
        }
      }
    }
    """
  let variables: Variables
  var errorPolicy = GraphQLErrorPolicy.none
}

@Suite(.timeLimit(.minutes(2))) struct RealServerIncrementalTests {
  @Test(arguments: ["1", "2", "4", "5"])
  func `a response in parts grows, and ends equal to the whole one`(userID: String) async throws {
    let client = try APIClient(baseURL: await BFFServer.shared().graphqlURL)
    var responses: [IncrementalResponse<GetTimeline.ResponseData>] = []
    for try await response in GetTimeline(variables: .init(userID: userID)).responses(on: client).values {
      responses.append(response)
    }
    let whole = try await GetTimeline(variables: .init(userID: userID, isDeferred: false)).post(on: client).value
    #expect(responses.last == IncrementalResponse(whole, isComplete: true))
    let timeline = whole.data.getMomentsDetailsByUserID
    #expect(timeline.moments.allSatisfy { $0.likes.value != nil })
    // How much comes at once is up to the network.
    for response in responses {
      let soFar = response.data.getMomentsDetailsByUserID
      #expect(soFar.userDetails == timeline.userDetails)
      for (moment, whole) in zip(soFar.moments, timeline.moments) {
        #expect(moment.id == whole.id)
        #expect((moment.likes == .pending || moment.likes == whole.likes))
      }
    }
    #expect(try await GetTimeline(variables: .init(userID: userID)).post(on: client).value == whole)
  }

  @Test(arguments: [true, false])
  func `a response in parts comes by hash as by document`(byGET: Bool) async throws {
    let server = try await BFFServer.start()
    var client = try APIClient(baseURL: server.graphqlURL)
    client.graphQL.wire = .persistedQueries(byGET: byGET)
    client.timeouts.total = .seconds(30)
    let session = GetTimeline(variables: .init(userID: "1"))
    let whole = try await GetTimeline(variables: .init(userID: "1", isDeferred: false)).post(on: client).value
    // That took two requests, since the hash was not known, and each of these takes one.
    for _ in 1...2 {
      var last: IncrementalResponse<GetTimeline.ResponseData>?
      for try await response in session.responses(on: client).values { last = response }
      #expect(last == IncrementalResponse(whole, isComplete: true))
    }
    #expect(try await server.stats().requests["/graphql"] == 4)
    #expect(try await server.stats().persistedQueries == 1)
  }

  @Test func `errors of fragments are in the response with their places`() async throws {
    let client = try APIClient(baseURL: await BFFServer.shared().graphqlURL)
    let session = GetTimeline(variables: .init(userID: "0"), errorPolicy: .all)
    let response = try await session.post(on: client).value
    let moments = response.data.getMomentsDetailsByUserID.moments
    #expect(moments.count >= 60)
    let unknown = moments.indices.filter { moments[$0].likes.value?.viewCount == nil }
    let places = response.errors.compactMap { error -> Int? in
      guard case .index(let index)? = error.path.dropFirst(2).first else { return nil }
      return index
    }
    #expect(unknown == places.sorted())
    #expect(unknown.prefix(6) == [7, 17, 27, 37, 47, 57])
  }

  @Test func `disposing a response in parts closes its connection`() async throws {
    let first =
      #"{"data":{"getMomentsDetailsByUserID":{"userDetails":{"name":"A"},"moments":[]}},"#
      + #""pending":[{"id":"0","path":["getMomentsDetailsByUserID","moments"]}],"hasNext":true}"#
    let head = "HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary=\"-\"\r\n\r\n"
    let server = try ScriptedServer([
      .readRequest, .send(head + "---\r\nContent-Type: application/json\r\n\r\n" + first), .waitForClientToClose,
    ])
    let client = try APIClient(baseURL: server.url)
    let seen = Seen(GetTimeline(variables: .init(userID: "1")).responses(on: client))
    _ = try await seen.state.wait { $0.elements.count == 1 }
    #expect(seen.elements.first?.isComplete == false)
    seen.dispose()
    _ = try await server.waitForClientToClose(within: .seconds(20))
  }
}
