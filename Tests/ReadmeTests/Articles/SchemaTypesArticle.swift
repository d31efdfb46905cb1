// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLClient
import StrictJSON

enum SchemaTypesArticle {
  enum SearchResult: Decodable, Sendable {
    case moment(id: String, title: String?)
    case user(id: String, name: String)
    case other(typename: String)

    private enum CodingKeys: CodingKey { case __typename, id, title, name }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      self =
        switch try members.decode(String.self, forKey: .__typename) {
        case "Moment":
          .moment(
            id: try members.decode(String.self, forKey: .id),
            title: try members.decodeIfPresent(String.self, forKey: .title))
        case "UserDetails":
          .user(
            id: try members.decode(String.self, forKey: .id), name: try members.decode(String.self, forKey: .name))
        case let typename: .other(typename: typename)
        }
    }
  }

  struct Search: GraphQLSession {
    struct Variables: Encodable, Sendable { let text: String }
    struct ResponseData: Decodable, Sendable { let search: [SearchResult] }
    static let query: GraphQLDocument = """
      query search($text: String!) {
        search(text: $text) { __typename ... on Moment { id title } ... on UserDetails { id name } }
      }
      """
    let variables: Variables
  }

  struct AnyNode: Decodable, Sendable {
    let id: String
    let name: String?  // of a user
    let title: String?  // of a moment
  }

  struct GetNode: GraphQLSession {
    struct Variables: Encodable, Sendable { let id: String }
    struct ResponseData: Decodable, Sendable { let node: AnyNode? }
    static let query: GraphQLDocument = """
      query getNode($id: ID!) { node(id: $id) { id ... on UserDetails { name } ... on Moment { title } } }
      """
    let variables: Variables
  }

  static func client(endpoint: URL) throws -> APIClient {
    let coder = JSONCoder(dates: .lenientISO8601, decimals: .string)
    let client = try APIClient(baseURL: endpoint, encoder: coder, decoder: coder)
    return client
  }

  struct MomentsSince: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let userID: String
      let since: Date
    }
    struct ResponseData: Decodable, Sendable {
      struct Moment: Decodable, Sendable {
        let id: String
        let createdAt: Date
      }
      let momentsSince: [Moment]
    }
    static let query: GraphQLDocument = """
      query momentsSince($userID: ID!, $since: DateTime!) { momentsSince(userID: $userID, since: $since) { id createdAt } }
      """
    let variables: Variables
  }

  /// An amount with its currency, such as `"12.50 EUR"`.
  struct Money: Codable, Hashable, Sendable {
    var amount: Decimal
    var currency: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let parts = try container.decode(String.self).split(separator: " ")
      guard parts.count == 2, let amount = Decimal(string: String(parts[0])) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "An amount and a currency were expected.")
      }
      (self.amount, currency) = (amount, String(parts[1]))
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode("\(amount) \(currency)")
    }
  }
}
