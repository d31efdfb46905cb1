// A session whose document has another name than `query`.
// message: type 'GetName' does not conform to protocol 'GraphQLSession'
// message: protocol requires property 'query' with type 'GraphQLDocument'

import GraphQLClient

struct GetName: GraphQLSession {
  struct ResponseData: Decodable, Sendable { let name: String }
  #if CORRECT
    static let query: GraphQLDocument = "query getName { name }"
  #else
    static let document: GraphQLDocument = "query getName { name }"
  #endif
}
