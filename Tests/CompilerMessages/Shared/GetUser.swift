// What the mistakes beside this folder are made with.

import GraphQLClient
import Streams

struct User: Codable, Sendable, Identifiable {
  let id: String
  var name: String
}

struct GetUser: GraphQLSession {
  struct Variables: Encodable, Sendable { let id: String }
  struct ResponseData: Codable, Sendable { var user: User }
  static let query: GraphQLDocument = "query getUser($id: ID!) { user(id: $id) { id name } }"
  let variables: Variables
}

struct RenameUser: GraphQLSession {
  struct Variables: Encodable, Sendable { let id: String, name: String }
  struct ResponseData: Codable, Sendable { var user: User }
  static let query: GraphQLDocument =
    "mutation renameUser($id: ID!, $name: String!) { user: renameUser(id: $id, name: $name) { id name } }"
  let variables: Variables
}

struct UserChanged: GraphQLSubscription {
  struct ResponseData: Decodable, Sendable { let user: User }
  static let query: GraphQLDocument = "subscription userChanged { user: userChanged { id name } }"
}
