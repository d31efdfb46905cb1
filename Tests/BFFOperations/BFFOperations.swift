package import Foundation
package import GraphQLClient
package import Models

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

/// A part of a timeline, paged by number.
package struct GetMomentsPage: GraphQLSession {
  package struct Variables: Encodable, Hashable, Sendable {
    package let userID: String
    package let page: Int
    package let withLikes: Bool
  }
  package struct ResponseData: Decodable, Sendable {
    package struct Page: Decodable, Hashable, Sendable {
      package let curPage: Int
      /// Whether this is the last page, or one after it.
      package let over: Bool
      package let datas: [MomentsDetails.Moment]
    }
    /// It is nullable in the schema, but `null` without an error is refused.
    package let momentsPage: Page
  }
  package static let query: GraphQLDocument = """
    query momentsPage($userID: ID!, $page: Int!, $withLikes: Boolean!) {
      momentsPage(userID: $userID, page: $page) {
        curPage over
        datas {
          id userDetails { name avatar } type title url photos createdDate
          isLiked @include(if: $withLikes) likes @include(if: $withLikes) { id avatar }
        }
      }
    }
    """
  package let variables: Variables

  package init(userID: String, page: Int, withLikes: Bool = true) {
    variables = Variables(userID: userID, page: page, withLikes: withLikes)
  }
}
