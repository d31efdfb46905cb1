import GraphQLClient
import Streams
import TestSupport
import Testing

/// Fragments that no server announces.
@Suite struct UnannouncedFragmentTests {
  private struct GetPosts: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let d: Deferred<Details> }
    struct Details: Decodable, Sendable, Equatable { let friends: [Friend] }
    struct Friend: Decodable, Sendable, Equatable { let posts: [Post] }
    struct Post: Decodable, Sendable, Equatable { let title: String }
    static let query: GraphQLDocument = """
      query posts { friends { posts { id } } ... @defer(label: "d") { friends { posts { title } } } }
      """
  }

  private struct GetEmail: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let d: Deferred<Details> }
    struct Details: Decodable, Sendable, Equatable { let email: String? }
    static let query: GraphQLDocument = #"query email { id ... @defer(label: "d") { ... on User { email } } }"#
  }

  private struct GetPlace: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let d: Deferred<Details> }
    struct Details: Decodable, Sendable, Equatable { let place: Deferred<Place> }
    struct Place: Decodable, Sendable, Equatable { let name: String }
    static let query: GraphQLDocument = """
      query place { id ... @defer(label: "d") { ... @defer(label: "place") { name } } }
      """
  }

  /// The responses that become of payloads.
  private func responses<Session: GraphQLSession>(
    _ session: Session, _ payloads: String...
  ) async throws -> [Session.ResponseData] {
    let client = try IncrementalServer.client(sending: payloads)
    return try await session.responses(on: client).values.reduce(into: []) { $0.append($1.data) }
  }

  @Test(arguments: ["[]", #"[{"id":"0","title":"Z"}]"#])
  func `a fragment is pending until all elements of its lists have what it selects`(posts: String) async throws {
    let responses = try await responses(
      GetPosts(), #"{"data":{"friends":[{"posts":\#(posts)},{"posts":[{"id":"1"}]}]},"hasNext":true}"#,
      #"{"incremental":[{"path":[],"label":"d","data":{"friends":[{},{"posts":[{"title":"A"}]}]}}],"hasNext":false}"#)
    #expect(responses.first?.d == .pending)
    #expect(responses.last?.d.value?.friends.last == .init(posts: [.init(title: "A")]))
  }

  @Test func `a fragment of empty lists alone is pending until nothing else can come`() async throws {
    let responses = try await responses(
      GetPosts(), #"{"data":{"friends":[{"posts":[]}]},"hasNext":true}"#, #"{"hasNext":false}"#)
    #expect(responses.map(\.d) == [.pending, .ready(.init(friends: [.init(posts: [])]))])
  }

  @Test func `a fragment of which nothing must be there is pending until it has arrived`() async throws {
    let first = #"{"data":{"id":"1"},"hasNext":true}"#
    let arrived = try await responses(
      GetEmail(), first, #"{"incremental":[{"path":[],"label":"d","data":{"email":"a@b"}}],"hasNext":false}"#)
    #expect(arrived.map(\.d) == [.pending, .ready(.init(email: "a@b"))])
    let absent = try await responses(GetEmail(), first, #"{"hasNext":false}"#)
    #expect(absent.map(\.d) == [.pending, .pending])
    let whole = try await responses(GetEmail(), #"{"data":{"id":"1","email":"a@b"}}"#)
    #expect(whole.last?.d == .ready(.init(email: "a@b")))
  }

  @Test func `a fragment that a server could have announced is ready with the rest of its object`() async throws {
    let first = #"{"data":{"id":"1","email":null},"pending":[{"id":"0","path":[]}],"hasNext":true}"#
    let responses = try await responses(GetEmail(), first, #"{"completed":[{"id":"0"}],"hasNext":false}"#)
    #expect(responses.first?.d == .ready(.init(email: nil)))
  }

  @Test func `a fragment of other fragments alone is pending until one of them has arrived`() async throws {
    let responses = try await responses(
      GetPlace(), #"{"data":{"id":"1"},"hasNext":true}"#,
      #"{"incremental":[{"path":[],"label":"place","data":{"name":"A"}}],"hasNext":true}"#, #"{"hasNext":false}"#)
    let ready = Deferred.ready(GetPlace.Details(place: .ready(.init(name: "A"))))
    #expect(responses.map(\.d) == [.pending, ready, ready])
  }
}
