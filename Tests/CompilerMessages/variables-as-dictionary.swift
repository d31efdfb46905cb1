// Variables in a dictionary of anything, as Apollo's and Alamofire's parameters are.
// message: stored property 'variables' of 'Sendable'-conforming struct 'GetPost' contains non-Sendable type 'Any'

import GraphQLClient

struct GetPost: GraphQLSession {
  struct ResponseData: Decodable, Sendable { let title: String }
  static let query: GraphQLDocument = "query getPost($id: ID!) { title(id: $id) }"
  #if CORRECT
    struct Variables: Encodable, Sendable { let id: String }
    let variables: Variables
  #else
    let variables: [String: Any]
  #endif
}
