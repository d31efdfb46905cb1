// A constant of a response that has a value already, and is not decoded.
// message: immutable property will not be decoded because it is declared with an initial value which cannot be overwritten

import GraphQLClient

struct GetName: GraphQLSession {
  struct ResponseData: Decodable, Sendable {
    #if CORRECT
      let name: String?
    #else
      let name: String? = nil
    #endif
  }
  static let query: GraphQLDocument = "query getName { name }"
}
