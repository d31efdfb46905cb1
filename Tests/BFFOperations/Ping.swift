package import Networking

/// A small query.
package struct Ping: GraphQLSession {
  package struct Variables: Encodable, Sendable {
    let userID: String
  }
  package struct ResponseData: Decodable, Sendable {
    package struct Details: Decodable, Sendable {
      package struct Moment: Decodable, Sendable {
        package let id: String
      }
      package let moments: [Moment]
    }
    /// Not nullable: where it fails, there is no data at all.
    package let getMomentsDetailsByUserID: Details
  }
  package static let query: GraphQLDocument =
    "query ping($userID: ID!) { getMomentsDetailsByUserID(userID: $userID) { moments { id } } }"
  package let variables = Variables(userID: "1")

  package init() {}
}
