import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import Streams
import StrictJSON
import Testing

/// Sessions with `@defer` and `@stream`, held to a schema.
@Suite struct DeferredSessionTests {
  private static let sdl = """
    directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
    directive @stream(if: Boolean! = true, label: String, initialCount: Int = 0) on FIELD
    type Query { me: User! node: Node! }
    interface Node { id: ID! }
    type User implements Node { id: ID! name: String! likeCount: Int! place: Int friends: [User!]! }
    type Post implements Node { id: ID! title: String! }
    """

  private struct Correct: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      let me: User
      let node: Node
    }
    struct User: Decodable, Sendable {
      let name: String
      let stats: Deferred<Stats>
      let friends: [Friend]?
    }
    struct Stats: Decodable, Sendable {
      let likeCount: Int
      let rank: Deferred<Rank>
    }
    struct Rank: Decodable, Sendable { let place: Int? }
    struct Friend: Decodable, Sendable { let id: String }
    struct Node: Decodable, Sendable {
      let id: String
      let post: Deferred<Post>
    }
    struct Post: Decodable, Sendable { let title: String }
    static let query: GraphQLDocument = """
      query correct {
        me { name ...stats @defer(label: "stats") ... @defer { friends @stream(initialCount: 1) { id } } }
        node { id ... on Post @defer(label: "post") { title } }
      }
      fragment stats on User { likeCount ... @defer(label: "rank") { place } }
      """
  }

  /// The same with optional members, which a server that ignores the directives fills, too.
  private struct Lenient: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      let me: User
      let node: Node
    }
    struct User: Decodable, Sendable {
      let stats: Deferred<Stats>?
    }
    struct Stats: Decodable, Sendable {
      let likeCount: Int
    }
    struct Node: Decodable, Sendable {
      let id: String
      let post: Deferred<Post>?

      enum CodingKeys: CodingKey { case id, post }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        let isThere = try container.contains(.post) && !container.decodeNil(forKey: .post)
        post = isThere ? try container.decode(Deferred<Post>.self, forKey: .post) : nil
      }
    }
    struct Post: Decodable, Sendable { let title: String }
    static let query: GraphQLDocument = """
      query lenient {
        me { ... @defer(label: "stats") { likeCount } }
        node { id ... on Post @defer(label: "post") { title } }
      }
      """
  }

  private struct WrongOptional: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let me: User }
    struct User: Decodable, Sendable { let stats: Deferred<Stats>?, statistics: Deferred<Stats>? }
    struct Stats: Decodable, Sendable { let likeCount: String }
    static let query: GraphQLDocument = #"query wrong { me { ... @defer(label: "stats") { likeCount } } }"#
  }

  private struct Wrong: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let me: User }
    struct User: Decodable, Sendable { let stats: Deferred<Stats> }
    struct Stats: Decodable, Sendable { let likeCount: String, name: String }
    static let query: GraphQLDocument = #"query wrong { me { ... @defer(label: "stats") { likeCount } } }"#
  }

  @Test func `a deferred fragment is held to the schema, and is no false alarm`() throws {
    let check = SessionCheck(try Schema(parsing: Self.sdl))
    #expect(check.findings(in: Correct.self).map(\.line) == [])
    #expect(check.findings(in: Lenient.self).map(\.line) == [])
    let optional = check.findings(in: WrongOptional.self).map(\.line)
    #expect(optional.contains { $0.hasPrefix("error data.me.likeCount: is Int") }, "\(optional)")
    #expect(optional.contains { $0.contains("data.me.statistics: is read but not selected") }, "\(optional)")
    let lines = check.findings(in: Wrong.self).map(\.line)
    #expect(lines.contains { $0.hasPrefix("error data.me.likeCount: is Int") }, "\(lines)")
    #expect(lines.contains { $0.contains("name: is read but not selected") }, "\(lines)")
  }

  @Test func `a server made from the schema ignores the directives, and a client reads its whole response`()
    async throws
  {
    let server = TestServer(schema: try Schema(parsing: Self.sdl))
    try server.resolve("User.likeCount") { _ in 7 }
    let client = try APIClient(baseURL: #require(URL(string: "https://example.com/graphql")), transport: server)
    let responses = try await Correct().responses(on: client).values.reduce(into: []) { $0.append($1) }
    #expect(responses.map(\.isComplete) == [true])
    #expect(responses.first?.data.me.stats.value?.likeCount == 7)
    #expect(responses.first?.data.me.stats.value?.rank.value != nil)
    #expect(try await Correct().data(on: client).value.me.stats.value?.likeCount == 7)
  }
}
