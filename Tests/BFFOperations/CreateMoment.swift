package import Networking

/// Not declared idempotent, and not idempotent either: each time there is one moment more.
package struct CreateMoment: GraphQLSession {
  package struct Variables: Encodable, Sendable {
    package struct Input: Encodable, Sendable {
      let userID: String
      let title: String
      let url = "https://example.com/"
    }
    let input: Input
  }
  package struct ResponseData: Decodable, Sendable {
    package struct Moment: Decodable, Sendable {
      package let id: String
    }
    package let createMoment: Moment
  }
  package static let query: GraphQLDocument =
    "mutation createMoment($input: CreateMomentInput!) { createMoment(input: $input) { id } }"
  package let variables: Variables

  package init(userID: String = "5", title: String) {
    variables = Variables(input: .init(userID: userID, title: title))
  }
}
