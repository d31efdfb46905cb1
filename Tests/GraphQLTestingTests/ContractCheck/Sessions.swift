import Foundation
import GraphQLClient
import StrictJSON

extension SessionCheckTests {
  static let sdl = """
    type Query { me: User! search(text: String!, kind: String @deprecated): [Hit!]! node(id: ID!): Node
      list(id: ID!, first: Int, filter: Filter, size: Int, flag: Boolean): User! }
    interface Node { id: ID! }
    type User implements Node {
      id: ID! name: String! nickname: String score: Float! age: Int! role: Role! friends: [User]! best: User
      avatar: String! joined: DateTime! money: Money! nick: String @deprecated(reason: "use nickname") first_name: String!
    }
    type Post implements Node { id: ID! title: String! }
    type Tag { label: String! }
    union Hit = User | Post | Tag
    enum Role { ADMIN GUEST }
    input Filter { role: Role! name: String }
    scalar DateTime
    scalar Money
    """

  enum Role: String, Codable { case admin = "ADMIN" }
  struct Friend: Decodable, Sendable { let name: String }

  struct Correct: GraphQLSession {
    struct Filter: Encodable, Sendable { var role: String }
    struct Variables: Encodable, Sendable { var id: String, first: Int?, filter: Filter?, long: Bool }
    struct User: Decodable, Sendable {
      let id: String
      let name: String?
      let nickname: String?
      let role: GraphQLEnum<Role>
      let friends: [Friend?]
      let score: Double
      let age: Int
    }
    struct ResponseData: Decodable, Sendable { let list: User }
    static let query: GraphQLDocument = """
      query correct($id: ID!, $first: Int, $filter: Filter, $long: Boolean!) {
        list(id: $id, first: $first, filter: $filter) {
          ...user
          friends { name }
        }
      }
      """ + "fragment user on User { id name @include(if: $long) nickname role score age }"
    let variables: Variables
  }

  struct Misspelt: GraphQLSession {
    struct User: Decodable, Sendable {
      let nmae: String
      let nikname: String?
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query misspelt { me { name nickname } }"
  }

  struct Unselected: GraphQLSession {
    struct User: Decodable, Sendable {
      let name: String
      let score: Double
      let nickname: String?
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query unselected { me { name } }"
  }

  struct WrongTypes: GraphQLSession {
    struct Friends: Decodable, Sendable { let name: String }
    struct User: Decodable, Sendable {
      let id: Int
      let score: Int
      let friends: Friends
      let best: String?
      let age: Int8
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query types { me { id score friends { name } best { name } age } }"
  }

  struct Nulls: GraphQLSession {
    struct User: Decodable, Sendable {
      let nickname: String
      let friends: [Friend]
      let best: Friend
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query nulls { me { nickname friends { name } best { name } } }"
  }

  struct Closed: GraphQLSession {
    struct User: Decodable, Sendable { let role: Role }
    struct Found: Decodable, Sendable { let name: String }
    struct ResponseData: Decodable, Sendable {
      let me: User
      let search: [Found]
    }
    static let query: GraphQLDocument = #"query closed { me { role } search(text: "a") { ... on User { name } } }"#
  }

  struct ClosedUnion: GraphQLSession {
    enum Hit: Decodable, Sendable {
      case user(String)
      case post(String)

      enum CodingKeys: CodingKey { case __typename, name, title }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .__typename) {
        case "User": self = .user(try container.decode(String.self, forKey: .name))
        case "Post": self = .post(try container.decode(String.self, forKey: .title))
        default:
          throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no such type"))
        }
      }
    }
    struct ResponseData: Decodable, Sendable { let search: [Hit] }
    static let query: GraphQLDocument =
      #"query closed { search(text: "a") { __typename ... on User { name } ... on Post { title } } }"#
  }

  struct OpenUnion: GraphQLSession {
    enum Hit: Decodable, Sendable {
      case user(String)
      case post(String)
      case other(String)

      enum CodingKeys: CodingKey { case __typename, name, title }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .__typename) {
        case "User": self = .user(try container.decode(String.self, forKey: .name))
        case "Post": self = .post(try container.decode(String.self, forKey: .title))
        case let type: self = .other(type)
        }
      }
    }
    struct ResponseData: Decodable, Sendable { let search: [Hit] }
    static let query: GraphQLDocument =
      #"query open { search(text: "a") { __typename ... on User { name } ... on Post { title } } }"#
  }

  struct Conditional: GraphQLSession {
    struct Variables: Encodable, Sendable { let long: Bool, short: Bool }
    struct User: Decodable, Sendable {
      let name: String
      let role: GraphQLEnum<Role>
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = """
      query conditional($long: Boolean!, $short: Boolean!) {
        me { name @include(if: $long) ... on User @skip(if: $short) { role } }
      }
      """
    let variables: Variables
  }

  struct WrongVariables: GraphQLSession {
    struct Filter: Encodable, Sendable { var role = "ADMN", nmae = "a" }
    struct Variables: Encodable, Sendable {
      var frist = 1
      var filter = Filter()
      var size = "a"
      var flag: String?
      var colour: String?
    }
    typealias ResponseData = [String: Friend]
    static let query: GraphQLDocument = """
      query variables($id: ID!, $first: Int, $filter: Filter, $size: Int, $flag: Boolean) {
        list(id: $id, first: $first, filter: $filter, size: $size, flag: $flag) { name }
      }
      """
    let variables: Variables
  }

  struct WrongDocument: GraphQLSession {
    struct User: Decodable, Sendable { let naem: String }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query q { me { naem } }"
  }

  struct Endless: GraphQLSession {
    typealias ResponseData = [String: JSONValue]
    static let query: GraphQLDocument = "query q { me { ...f } } fragment f on User { friends { ...f } }"
  }

  struct NoDocument: GraphQLSession {
    typealias ResponseData = [String: String]
    static let query: GraphQLDocument = "query q { me "
  }

  struct Deprecated: GraphQLSession {
    struct User: Decodable, Sendable { let nick: String? }
    struct ResponseData: Decodable, Sendable {
      let me: User
      let search: [[String: String]]
    }
    static let query: GraphQLDocument = #"query deprecated { me { nick } search(text: "a", kind: "b") { __typename } }"#
  }

  /// What is null is below a node of any type, also of one from the future.
  struct EarlyFuture: GraphQLSession {
    struct Found: Decodable, Sendable {
      let id: String
      let nickname: String

      enum CodingKeys: CodingKey { case __typename, id, nickname }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        let isUser = try container.decode(String.self, forKey: .__typename) == "User"
        nickname = isUser ? try container.decode(String.self, forKey: .nickname) : ""
      }
    }
    struct ResponseData: Decodable, Sendable { let node: Found? }
    static let query: GraphQLDocument =
      #"query early { node(id: "1") { __typename id ... on User { nickname } } }"#
  }

  struct Typename: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let search: [OpenUnion.Hit] }
    static let query: GraphQLDocument =
      #"query typename { search(text: "a") { ... on User { name } ... on Post { title } } }"#
  }

  struct Lenient: GraphQLSession {
    struct User: Decodable, Sendable {
      let id: String
      let nickname: String
      let age: Int
      let role: Role?
      let best: [String: String]

      enum CodingKeys: CodingKey { case id, nickname, age, role, best }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let number = try? container.decode(Int.self, forKey: .id) {
          id = "\(number)"
        } else {
          id = try container.decode(String.self, forKey: .id)
        }
        nickname = try container.decodeIfPresent(String.self, forKey: .nickname) ?? "none"
        age = (try? container.decode(Int.self, forKey: .age)) ?? 0
        role = try? container.decode(Role.self, forKey: .role)
        best = try container.decodeIfPresent([String: String].self, forKey: .best) ?? [:]
      }
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query lenient { me { id nickname age role best { name avatar } } }"
  }

  struct Dates: GraphQLSession {
    struct User: Decodable, Sendable { let joined: Date }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query dates { me { joined } }"
  }

  struct Links: GraphQLSession {
    struct User: Decodable, Sendable { let avatar: UUID }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query links { me { avatar } }"
  }

  struct Unknown: GraphQLSession {
    struct User: Decodable, Sendable { let money: Int }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query unknown { me { money } }"
  }

  /// Reads bytes, without the recording decoder's knowledge.
  struct Bytes: GraphQLSession {
    struct User: Decodable, JSONDecodable, Sendable {
      var name = ""
      var nickname = ""

      init(from json: inout JSONReader) throws(JSONError) {
        try json.beginObject()
        while try json.nextKey() {
          if json.key(is: "nickname") { nickname = try json.read() } else { try json.skipValue() }
        }
      }

      init(from decoder: any Decoder) throws {}
    }
    struct ResponseData: Decodable, JSONDecodable, Sendable {
      let me: User

      init(from json: inout JSONReader) throws(JSONError) { me = try json.readMember("me") }
    }
    static let query: GraphQLDocument = "query bytes { me { name nickname } }"
  }

  struct Snake: GraphQLSession {
    struct Variables: Encodable, Sendable { let userID: String }
    struct User: Decodable, Sendable { let firstName: String }
    struct ResponseData: Decodable, Sendable { let list: User }
    static let query: GraphQLDocument = "query snake($user_id: ID!) { list(id: $user_id) { first_name } }"
    let variables: Variables
  }
}
