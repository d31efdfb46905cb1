// A response that is an object, with members that can change.
// message: stored property 'author' of 'Sendable'-conforming struct 'ResponseData' has non-Sendable type 'Author'
// message: class 'Author' does not conform to the 'Sendable' protocol

import GraphQLClient

#if CORRECT
  struct Author: Decodable, Sendable { var name = "" }
#else
  final class Author: Decodable { var name = "" }
#endif

struct GetAuthor: GraphQLSession {
  struct ResponseData: Decodable, Sendable { let author: Author }
  static let query: GraphQLDocument = "query getAuthor { author { name } }"
}
