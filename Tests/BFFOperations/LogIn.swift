package import Foundation
package import Networking

/// A token of the server's, which expires.
package struct LogIn: GraphQLSession {
  package struct ResponseData: Decodable, Sendable {
    package struct Token: Decodable, Sendable {
      package let accessToken: String
      package let expiresAt: Date
    }
    package let login: Token
  }
  package static let query: GraphQLDocument = "mutation login { login(userID: \"1\") { accessToken expiresAt } }"

  package init() {}
}
