package import Networking

/// All titles of the timeline that ``CreateMoment`` fills unless told otherwise.
package struct ReadTitles: GraphQLSession {
  package struct ResponseData: Decodable, Sendable {
    package struct Details: Decodable, Sendable {
      package struct Moment: Decodable, Sendable {
        package let title: String?
      }
      package let moments: [Moment]
    }
    package let getMomentsDetailsByUserID: Details
  }
  package static let query: GraphQLDocument =
    "query readTitles { getMomentsDetailsByUserID(userID: \"5\") { moments { title } } }"

  package init() {}
}
