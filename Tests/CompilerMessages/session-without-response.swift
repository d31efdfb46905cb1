// A session whose type of `data` has another name than `ResponseData`.
// message: type 'GetName' does not conform to protocol 'GraphQLSession'
// message: protocol requires nested type 'ResponseData'

import GraphQLClient

struct GetName: GraphQLSession {
  #if CORRECT
    struct ResponseData: Decodable, Sendable { let name: String }
  #else
    struct Data: Decodable, Sendable { let name: String }
  #endif
  static let query: GraphQLDocument = "query getName { name }"
}
