import Foundation
import GraphQLClient
import HTTPClientCore
import Streams
import Synchronization

/// One process of a fleet: many askers of one query, without a cache in the process. The query travels as its hash, so
/// that URLs, and nginx's keys, are short; only for a hash that the server does not know yet, the document follows.
///
///     Fleet URL ASKERS ACCOUNT [FRESHNESS]
///
/// With each line of its input, all askers send the query at once; when all have their response, it writes a line: how
/// many there were, how many texts they differ in, the milliseconds that they took, and what nginx says of its cache.
/// `FRESHNESS` is what the tests' server sends as `Cache-Control`.
@main
struct Fleet {
  static func main() async {
    let arguments = CommandLine.arguments
    guard 4...5 ~= arguments.count, let url = URL(string: arguments[1]), let askers = Int(arguments[2]), askers >= 0
    else { end("usage: Fleet URL ASKERS ACCOUNT [FRESHNESS]") }
    let freshness = arguments.count == 5 ? arguments[4] : "max-age=2, stale-while-revalidate=60, stale-if-error=60"
    let session = GetUser(variables: .init(id: "0"), account: arguments[3], freshness: freshness)
    let marks = CacheMarks()
    var client: APIClient
    do {
      client = try APIClient(baseURL: url, middlewares: [marks])
      _ = try session.headers
    } catch {
      end("Fleet: \(error)")
    }
    client.graphQL.wire = .persistedQueries()
    print("ready")
    fflush(nil)
    while readLine() != nil {
      let start = ContinuousClock.now
      do {
        let names = try await askAll(askers, session, on: client)
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        print("\(names.count) \(Set(names).count) \(milliseconds) \(marks.take())")
      } catch {
        print("failed: \(error)")
      }
      fflush(nil)
    }
  }

  /// Says in one line what is wrong with the arguments.
  private static func end(_ line: String) -> Never {
    FileHandle.standardError.write(Data((line + "\n").utf8))
    exit(64)
  }

  private static func askAll(_ askers: Int, _ session: GetUser, on client: APIClient) async throws -> [String] {
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<askers {
        group.addTask { try await session.data(on: client).value.timeline.userDetails.name }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }
}

/// Collects what nginx says of its cache: `HIT`, `MISS`, `STALE` and so on.
final class CacheMarks: HTTPMiddleware {
  private let marks = Mutex<Set<String>>([])

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    next(request).do(onNext: { part in
      guard case .head(let head) = part, let mark = head.headers["X-Cache"] else { return }
      self.marks.withLock { _ = $0.insert(mark) }
    })
  }

  /// What there was since the last call, with commas between.
  func take() -> String {
    let seen = marks.withLock { marks in
      defer { marks = [] }
      return marks
    }
    return seen.isEmpty ? "-" : seen.sorted().joined(separator: ",")
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
  let freshness: String

  var headers: HTTPHeaders {
    get throws {
      HTTPHeaders([
        try HTTPField(name: "Authorization", value: "Bearer \(account)"),
        // The tests' server takes its response's Cache-Control from here.
        try HTTPField(name: "X-Cache-Control", value: freshness),
      ])
    }
  }
}
