import Foundation
import GraphQLClient

/// What an account has written, at the origin of `Examples/RedisStore/Soak/origin.py`.
struct Note: Codable, Hashable, Sendable {
  let id: String
  /// Whose it is: the ids are the same in all accounts.
  let account: String
  /// How many writes it has had.
  let revision: Int
  /// The id of the last write.
  var last: String
}

struct GetNote: GraphQLSession {
  struct Variables: Encodable, Sendable { let id: String }
  struct ResponseData: Codable, Sendable { let note: Note }
  static let query: GraphQLDocument = "query getNote($id: ID!) { note(id: $id) { id account revision last } }"
  let variables: Variables

  init(_ id: String) { variables = Variables(id: id) }
}

/// A mutation that the outbox may keep.
struct Write: Codable, Hashable, Sendable {
  let note: String
  let id: String
}

/// The origin carries a write out once, however often it comes.
struct WriteNote: GraphQLSession {
  struct ResponseData: Codable, Sendable { let write: Note }
  static let query: GraphQLDocument =
    "mutation writeNote($note: ID!, $id: String!) { write(note: $note, id: $id) { id account revision last } }"
  let variables: Write
  var idempotencyKey: String? { variables.id }

  init(_ write: Write) { variables = write }
}

struct SignIn: GraphQLSession {
  struct Variables: Encodable, Sendable { let account: String }
  struct ResponseData: Decodable, Sendable {
    struct Token: Decodable, Sendable {
      let value: String
      let expiresAt: Double
    }
    let signIn: Token
  }
  static let query: GraphQLDocument =
    "mutation signIn($account: String!) { signIn(account: $account) { value expiresAt } }"
  let variables: Variables

  init(_ account: String) { variables = Variables(account: account) }
}
