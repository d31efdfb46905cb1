import Foundation
import HTTP
import Networking
import Streams

/// One process of a fleet: many askers of one query, without a cache in the process.
///
///     Fleet URL ASKERS ACCOUNT
///
/// With each line of its input, all askers send the query at once; when all have their response, it writes a line: how
/// many there were, how many texts they differ in, and the milliseconds that they took.
@main
struct Fleet {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let url = URL(string: arguments[1]), let askers = Int(arguments[2]) else {
      print("usage: Fleet URL ASKERS ACCOUNT")
      exit(64)
    }
    let client = try APIClient(baseURL: url)
    let session = GetUser(variables: .init(id: "0"), account: arguments[3])
    print("ready")
    fflush(nil)
    while readLine() != nil {
      let clock = ContinuousClock()
      let start = clock.now
      let names = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<askers {
          group.addTask { try await session.data(on: client, method: .get).value.timeline.userDetails.name }
        }
        var names: [String] = []
        for try await name in group { names.append(name) }
        return names
      }
      print("\(names.count) \(Set(names).count) \((clock.now - start) / .milliseconds(1))")
      fflush(nil)
    }
  }
}

struct GetUser: GraphQLSession {
  struct Variables: Encodable, Sendable { let id: String }
  struct ResponseData: Decodable, Sendable {
    struct Timeline: Decodable, Sendable { let userDetails: User }
    struct User: Decodable, Sendable { let name: String }
    let timeline: Timeline
  }
  static let query: GraphQLDocument = """
    query getUser($id: ID!) { timeline: getMomentsDetailsByUserID(userID: $id) { userDetails { name } } }
    """
  let variables: Variables
  let account: String

  var headers: HTTPHeaders {
    get throws {
      HTTPHeaders([
        try HTTPField(name: "Authorization", value: "Bearer \(account)"),
        // The tests' server takes its response's Cache-Control from here.
        try HTTPField(name: "X-Cache-Control", value: "max-age=2, stale-while-revalidate=60, stale-if-error=60"),
      ])
    }
  }
}
