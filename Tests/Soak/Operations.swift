import Foundation
import Networking

struct ReadTimeline: GraphQLSession {
  struct Variables: Encodable, Sendable {
    let userID: String
  }
  struct ResponseData: Decodable, Sendable {
    struct Details: Decodable, Sendable {
      struct Moment: Decodable, Sendable {
        let id: String
      }
      let moments: [Moment]
    }
    let getMomentsDetailsByUserID: Details
  }
  static let query: GraphQLDocument =
    "query readTimeline($userID: ID!) { getMomentsDetailsByUserID(userID: $userID) { moments { id title } } }"
  var variables = Variables(userID: "1")
}

/// Not declared idempotent, and not idempotent either.
struct CreateMoment: GraphQLSession {
  struct Variables: Encodable, Sendable {
    struct Input: Encodable, Sendable {
      var userID = "5"
      let title: String
      var url = "https://example.com/"
    }
    let input: Input
  }
  struct ResponseData: Decodable, Sendable {
    struct Moment: Decodable, Sendable {
      let id: String
    }
    let createMoment: Moment
  }
  static let query: GraphQLDocument =
    "mutation createMoment($input: CreateMomentInput!) { createMoment(input: $input) { id } }"
  let variables: Variables

  init(title: String) {
    variables = Variables(input: .init(title: title))
  }
}

struct LogIn: GraphQLSession {
  struct ResponseData: Decodable, Sendable {
    struct Token: Decodable, Sendable {
      let accessToken: String
      let expiresAt: Date
    }
    let login: Token
  }
  static let query: GraphQLDocument = "mutation login { login(userID: \"1\") { accessToken expiresAt } }"
}

/// All titles of the timeline that `CreateMoment` fills.
struct ReadTitles: GraphQLSession {
  struct ResponseData: Decodable, Sendable {
    struct Details: Decodable, Sendable {
      struct Moment: Decodable, Sendable {
        let title: String?
      }
      let moments: [Moment]
    }
    let getMomentsDetailsByUserID: Details
  }
  static let query: GraphQLDocument =
    "query readTitles { getMomentsDetailsByUserID(userID: \"5\") { moments { title } } }"
}
