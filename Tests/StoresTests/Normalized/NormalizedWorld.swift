import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@testable import Stores

/// A store over a quiet server, in virtual time.
struct NormalizedWorld {
  let server = QuietServer()
  let time = TestScheduler()
  let store: NormalizedStore

  static let schema = """
    type Query { issue(id: ID!): Issue issues(first: Int): [Issue!]! viewer: User node(id: ID!): Node }
    type Mutation { close(id: ID!): Issue rename(id: ID!, title: String!): Issue add(title: String!): Issue }
    type Subscription { closed: Issue }
    interface Node { id: ID! }
    type Issue implements Node { id: ID! title: String state: String author: User labels: [Label!] }
    type User implements Node { id: ID! name: String email: String }
    type Label { text: String }
    """

  init(
    schema: String = Self.schema, pagesConnections: Bool = false,
    _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws {
    let (client, configuration) = try Self.parts(server, time, change)
    var schema = try RecordSchema(schema)
    if pagesConnections { schema.pageConnections() }
    store = NormalizedStore(client, schema: schema, configuration: configuration)
  }

  /// A world whose store is in a folder. Its time begins `later` than that of others.
  init(
    in folder: URL, later: Duration = .zero, schema: RecordSchema? = nil,
    fileSystem: some FileSystem = SystemFileSystem(), _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws {
    let (client, configuration) = try Self.parts(server, time, later: later, change)
    store = try NormalizedStore(
      client, schema: schema ?? RecordSchema(Self.schema), folder: folder, partition: "account",
      configuration: configuration, fileSystem: fileSystem)
  }

  /// A world whose store is that of one process of those that share a storage.
  init(
    sharing storage: some RecordStorage, schema: RecordSchema? = nil,
    _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws {
    let (client, configuration) = try Self.parts(server, time, change)
    store = NormalizedStore(
      client, schema: try schema ?? RecordSchema(Self.schema), storage: storage, configuration: configuration)
  }

  private static func parts(
    _ server: QuietServer, _ time: TestScheduler, later: Duration = .zero,
    _ change: (inout NormalizedConfiguration) -> Void
  ) throws -> (APIClient, NormalizedConfiguration) {
    var configuration = NormalizedConfiguration()
    configuration.clock = .scheduler(time, start: StoreTime(microseconds: 1_000_000) + later)
    change(&configuration)
    let url = try #require(URL(string: "http://127.0.0.1/graphql"))
    return (try APIClient(baseURL: url, transport: server), configuration)
  }

  /// Requests an operation, and waits until its response is on disk, and nothing of it is in use any more.
  func request<Session: GraphQLSession>(_ session: Session, _ data: String) async throws {
    let get = Recorder(store.get(session, .networkOnly))
    server.last.data(data)
    try await get.waitForCompletion()
    get.dispose()
  }
}

extension NormalizedStore {
  /// Takes what others have added to the storage, and calls watchers at once.
  func takeOthers() throws {
    var failure: (any Error)?
    journal?.receive(reportingErrorsTo: { failure = $0 }, showing: { show($0)() })
    if let failure { throw failure }
  }

  /// What its journal does when the storage reports something.
  func catchUpNow() throws {
    try takeOthers()
    try journal?.write()
  }
}

extension TemporaryFolder {
  /// A copy of what is on disk now, as the next process finds it if this one ends.
  func copy() throws -> TemporaryFolder {
    let copy = TemporaryFolder()
    try FileManager.default.copyItem(at: url, to: copy.url)
    return copy
  }

  /// The file of the records.
  var journal: URL? { files.first { $0.hasSuffix("/records") }.map { url.appendingPathComponent($0) } }
}

struct GetIssue: GraphQLSession {
  struct Variables: Encodable, Hashable, Sendable { let id: String }
  struct ResponseData: Codable, Hashable, Sendable, CustomStringConvertible {
    struct Issue: Codable, Hashable, Sendable {
      var id: String
      var title: String?
      var state: String?
    }
    var issue: Issue?
    var description: String { issue.map { "\($0.id) \($0.title ?? "-") \($0.state ?? "-")" } ?? "none" }
  }
  static let query: GraphQLDocument = "query getIssue($id: ID!) { issue(id: $id) { id title state } }"
  let variables: Variables
  var errorPolicy = GraphQLErrorPolicy.none

  init(_ id: String, errorPolicy: GraphQLErrorPolicy = .none) {
    (variables, self.errorPolicy) = (Variables(id: id), errorPolicy)
  }
}

struct GetIssues: GraphQLSession {
  /// Without ids: the cache needs none in a user's type.
  struct ResponseData: Codable, Hashable, Sendable, CustomStringConvertible {
    struct Issue: Codable, Hashable, Sendable { var title: String? }
    var issues: [Issue]
    var description: String { issues.map { $0.title ?? "-" }.joined(separator: ",") }
  }
  static let query: GraphQLDocument = "query getIssues { issues(first: 2) { title } }"
}

struct GetIssuesWithIDs: GraphQLSession {
  struct ResponseData: Codable, Hashable, Sendable, CustomStringConvertible {
    struct Issue: Codable, Hashable, Sendable {
      var id: String
      var title: String?
    }
    var issues: [Issue]
    var description: String { issues.map { "\($0.id):\($0.title ?? "-")" }.joined(separator: ",") }
  }
  static let query: GraphQLDocument = "query withIDs { issues(first: 2) { id title } }"
}

/// The ids of `GetIssuesWithIDs` alone.
struct OnlyIDs: GraphQLSession {
  struct ResponseData: Codable, Hashable, Sendable {
    struct Issue: Codable, Hashable, Sendable { var id: String }
    var issues: [Issue]
  }
  static let query: GraphQLDocument = "query onlyIDs { issues(first: 2) { id } }"
}

/// The state of `GetIssue("1")` alone.
struct OnlyState: GraphQLSession {
  struct ResponseData: Codable, Hashable, Sendable {
    struct Issue: Codable, Hashable, Sendable {
      var id: String
      var state: String?
    }
    var issue: Issue?
  }
  static let query: GraphQLDocument = "query onlyState { issue(id: \"1\") { id state } }"
}

struct RenameIssue: GraphQLSession {
  struct Variables: Encodable, Hashable, Sendable { let id: String, title: String }
  struct ResponseData: Codable, Hashable, Sendable {
    struct Issue: Codable, Hashable, Sendable {
      var id: String
      var title: String?
    }
    var rename: Issue?
  }
  static let query: GraphQLDocument = """
    mutation rename($id: ID!, $title: String!) { rename(id: $id, title: $title) { id title } }
    """
  let variables: Variables

  init(_ id: String, _ title: String) { variables = Variables(id: id, title: title) }
}

/// Data of `GetIssue`.
func issue(_ id: String, _ title: String, _ state: String = "OPEN") -> String {
  #"{"issue": {"__typename": "Issue", "id": "\#(id)", "title": "\#(title)", "state": "\#(state)"}}"#
}

/// Data of `GetIssues`.
func issues(_ issues: (id: String, title: String)...) -> String {
  let elements = issues.map { #"{"__typename": "Issue", "id": "\#($0.id)", "title": "\#($0.title)"}"# }
  return #"{"issues": [\#(elements.joined(separator: ", "))]}"#
}

/// Data of `RenameIssue`.
func renamed(_ id: String, _ title: String) -> String {
  #"{"rename": {"__typename": "Issue", "id": "\#(id)", "title": "\#(title)"}}"#
}

/// Data of `OnlyIDs`.
func ids(_ ids: String...) -> JSONValue { ["issues": .array(ids.map { ["__typename": "Issue", "id": .string($0)] })] }
