// An edit of a response that can only be read, or of a constant in it, in a NormalizedStore.
// message: requires that 'GetName.ResponseData' conform to 'Encodable'
// message: cannot assign to property: 'title' is a 'let' constant

import GraphQLClient
import Stores

#if CORRECT
  struct GetName: GraphQLSession {
    struct ResponseData: Codable, Sendable { var name: String }
    static let query: GraphQLDocument = "query getName { name }"
  }

  struct GetTitle: GraphQLSession {
    struct ResponseData: Codable, Sendable { var title: String }
    static let query: GraphQLDocument = "query getTitle { title }"
  }
#else
  struct GetName: GraphQLSession {
    struct ResponseData: Decodable, Sendable { var name: String }
    static let query: GraphQLDocument = "query getName { name }"
  }

  struct GetTitle: GraphQLSession {
    struct ResponseData: Codable, Sendable { let title: String }
    static let query: GraphQLDocument = "query getTitle { title }"
  }
#endif

func edit(_ store: NormalizedStore) throws {
  try store.update(GetName()) { $0.name = "Mei" }
  try store.update(GetTitle()) { $0.title = "Tea" }
}
