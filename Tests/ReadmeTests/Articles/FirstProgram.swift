// The program of the documentation's front page, word for word, but for the function that it stands in.

import Foundation
import GraphQLClient
import Streams

struct GetUserName: GraphQLSession {
  struct Variables: Encodable, Sendable { let id: String }
  struct ResponseData: Decodable, Sendable {
    struct User: Decodable, Sendable { let name: String }
    struct Timeline: Decodable, Sendable { let userDetails: User }
    let timeline: Timeline
  }
  static let query: GraphQLDocument = """
    query getUserName($id: ID!) { timeline: getMomentsDetailsByUserID(userID: $id) { userDetails { name } } }
    """
  let variables: Variables
}

enum FirstProgram {
  static func main() async throws {
    if let endpoint = URL(string: "http://127.0.0.1:4000/graphql") {
      let client = try APIClient(baseURL: endpoint, middlewares: .standard())
      let data = try await GetUserName(variables: .init(id: "0")).data(on: client).value
      print(data.timeline.userDetails.name)
    }
  }
}
