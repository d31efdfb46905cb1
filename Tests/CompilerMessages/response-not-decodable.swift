// A response with a member that is not Decodable.
// message: cannot automatically synthesize 'Decodable' because 'Author' does not conform to 'Decodable'

import GraphQLClient

#if CORRECT
  struct Author: Decodable, Sendable { let name: String }
#else
  struct Author { let name: String }
#endif

struct GetAuthor: GraphQLSession {
  struct ResponseData: Decodable, Sendable { let author: Author }
  static let query: GraphQLDocument = "query getAuthor { author { name } }"
}
