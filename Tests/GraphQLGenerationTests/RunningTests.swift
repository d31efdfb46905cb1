import Foundation
import GeneratedShapes
import GraphQLClient
import GraphQLGeneration
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import HTTPTestSupport
import Stores
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// Generated sessions at work: by closures, and by a server of their schema.
@Suite struct RunningTests {
  private let server: TestServer
  private let client: APIClient

  init() throws {
    let schema = try Schema(
      parsing: String(decoding: GenerationFolder(target: "GeneratedShapes").schema[0].bytes, as: UTF8.self))
    server = TestServer(schema: schema, samples: ["BigInt": [7], "JSON": [["a": 1]]])
    client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: server)
  }

  @Test func `a closure gets the request as a value, and the mock is the initialiser`() async throws {
    let session = NodeSession { request in
      #expect(request.variables.id == "7")
      #expect(request.errorPolicy == .none)
      return .just(.init(data: .init(node: .init(id: "7", kind: .user(.init(login: "wei"))))))
    }
    let node = try await session.node(id: "7").value.node
    #expect(node?.id == "7")
    guard case .user(let user)? = node?.kind else { throw TestFailure("it is \(String(describing: node?.kind))") }
    #expect(user.login == "wei")
  }

  @Test func `errors beside data fail it, from a closure and from a server`() async throws {
    let handled = ViewerFieldsSession { _ in
      let data = ViewerFieldsSession.ResponseData(viewer: .init(id: "1", login: "a", avatar: "b"))
      return .just(.init(data: data, errors: [GraphQLError(message: "not now")]))
    }
    try server.fail("User.avatar", "not now")
    for session in [handled, ViewerFieldsSession(client: client)] {
      let error = await #expect(throws: RequestError.self) { try await session.viewerFields().value }
      #expect(error?.kind == .graphQL)
      #expect(error?.operationName == "ViewerFields")
    }
  }

  @Test func `a protocol stands for any source`() async throws {
    struct Fixed: ViewerFieldsSessionType {
      func viewerFields() -> Observable<ViewerFieldsSession.ResponseData> {
        .just(.init(viewer: .init(id: "1", login: "a", avatar: "b")))
      }
    }
    let sources: [any ViewerFieldsSessionType] = [Fixed(), ViewerFieldsSession(client: client)]
    for source in sources { #expect(try await !source.viewerFields().value.viewer.login.isEmpty) }
  }

  @Test func `each type of a union or interface is told, and one of the future keeps its name`() async throws {
    try server.resolve("Query.nodes") { _ in
      [
        ["__typename": "User", "id": "1", "login": "wei", "avatar": "a.png"],
        ["__typename": "Issue", "id": "2", "title": "Tea"],
        ["__typename": "Comment", "id": "3", "body": "Yes"],
        ["__typename": "Bot", "id": "4", "login": "robot"], .null, ["__typename": "ClosedEvent", "id": "5"],
      ]
    }
    let nodes = try await NodeKindsSession(client: client).nodeKinds(ids: ["1"]).value.nodes
    #expect(nodes.map { $0?.nodeID.id } == ["1", "2", "3", "4", nil, "5"])
    #expect(nodes.map { $0?.asActor?.login } == ["wei", nil, nil, "robot", nil, nil])
    let kinds = nodes.map { node -> String in
      switch node?.kind {
      case .user(let fields): "user \(fields.login)"
      case .issue(let issue): "issue \(issue.issueCard.title)"
      case .comment(let fields): "comment \(fields.body)"
      case .other(let name): "other \(name)"
      case nil: "none"
      }
    }
    #expect(kinds == ["user wei", "issue Tea", "comment Yes", "other Bot", "none", "other ClosedEvent"])
  }

  @Test(arguments: [true, false])
  func `what the variables leave out is nil`(_ isLong: Bool) async throws {
    let viewer = try await ViewerConditionalSession(client: client).viewerConditional(long: isLong, short: !isLong)
      .value
      .viewer
    #expect((viewer.name != nil) == isLong)
    #expect((viewer.score != nil) == isLong)
    #expect((viewer.userFields != nil) == isLong)
    #expect((viewer.role != nil) == isLong)
    #expect(viewer.always.hasPrefix("login"))
    let same = try await ViewerSameSession(client: client).viewerSame(long: isLong).value.viewer
    // Nothing in the response says whether the fragment was left out: all that it selects is there.
    #expect(same.sameFields?.login == same.login)
  }

  @Test func `a fragment that may be left out is nil for objects of other types, although they have all of its keys`()
    throws
  {
    let repository = try NodeActorSession.ResponseData(json: #"{"node": {"__typename": "Repository", "id": "1"}}"#)
    #expect(repository.node?.id == "1")
    #expect(repository.node?.actorID == nil)
    let user = try NodeActorSession.ResponseData(json: #"{"node": {"id": "1", "__typename": "User"}}"#)
    #expect(user.node?.actorID?.id == "1")
  }

  @Test func `names that are odd in Swift are those of the schema on the way`() async throws {
    try server.resolve("Query.odd") { request in
      #expect(request.arguments["in"] == ["self": 1, "default": true, "json": ["a": 1], "value": "self"])
      return ["self": 2, "in": 3, "_": 4, "Type": ["name": "t"], "kind": "Type", "userId": "a", "userID": "b"]
    }
    let input = OddInput(self_: 1, json: .some(["a": 1]), value: .some(.self_))
    let odd = try await OddSession(client: client).odd(in: .some(input), self_: false).value.odd
    #expect(odd.self_ == 2)
    #expect(odd.in == 3)
    #expect(odd.underscore == 4)
    #expect(odd.Type_?.name == "t")
    #expect(odd.kind?.value == .type)
    #expect(odd.userID == "a")
    #expect(odd.userID_ == "b")
  }

  @Test func `a value of an enum that is not known yet is kept`() throws {
    let data = try RoleNamedSession.ResponseData(json: #"{"role": "OWNER"}"#)
    #expect(data.role == .unknown("OWNER"))
    #expect(try RoleNamedSession.ResponseData(json: #"{"role": "ADMIN"}"#).role?.value == .admin)
    #expect(Role.allCases == [.member, .admin])
  }

  @Test func `of the input objects only what is given is sent`() async throws {
    let seen = Locked<[JSONValue]>([])
    try server.resolve("Query.user") { request in
      seen.withLock { $0.append(request.arguments["by"] ?? .null) }
      return ["id": "1"]
    }
    let session = UserBySession(client: client)
    _ = try await session.userBy(by: .id("7")).value
    _ = try await session.userBy(by: .owner(.login("wei"))).value
    #expect(seen.withLock { $0 } == [["id": "7"], ["owner": ["login": "wei"]]])
    let filter = IssueFilter(state: .null, not: .some(IssueFilter(labels: .some(["a"]))))
    let body = try IssuesSession.Session(filter: .some(filter)).variables.json()
    #expect(String(decoding: body, as: UTF8.self) == #"{"filter":{"state":null,"not":{"labels":["a"]}}}"#)
  }

  @Test func `a deferred fragment is ready once it has come`() async throws {
    let responses = try await LaterLabelledSession(client: client).laterLabelled().elements
    let last = try #require(responses.last)
    #expect(last.isComplete)
    #expect(last.data.viewer.fields.value?.login == last.data.viewer.login)
    #expect(last.data.viewer.statusLater.value != nil)
    let pending = LaterLabelledSession.ResponseData(viewer: .init(login: "a"))
    #expect(pending.viewer.fields == .pending)
  }

  @Test func `a subscription gives its events`() async throws {
    let session = EventsSession { _ in
      .from([
        .value(.init(data: .init(event: .init(kind: .comment(.init(body: "a")))))),
        .value(.init(data: .init(event: .init(kind: .other("LabeledEvent"))))),
      ])
    }
    let events = try await session.events().elements
    let kinds = events.compactMap { $0.value?.event.kind }
    #expect(kinds == [.comment(.init(body: "a")), .other("LabeledEvent")])
  }

  @Test func `a response is kept on disk as it came, and one that was made is refused`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("generated-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let data = try await RepositorySession(client: client).repository(owner: "a", name: "b").value
    let cache = try DiskCache<String, RepositorySession.ResponseData>(folder: folder)
    try cache.write(StoredValue(data, writtenAt: .now()), for: "a/b")
    #expect(try cache.read("a/b")?.value == data)
    let fields = try await ViewerFieldsSession(client: client).viewerFields().value.viewer
    let fragments = try DiskCache<String, UserFields>(folder: folder, partition: "fields")
    try fragments.write(StoredValue(fields, writtenAt: .now()), for: "me")
    #expect(try fragments.read("me")?.value == fields)
    #expect(throws: (any Error).self) {
      try fragments.write(StoredValue(UserFields(id: "1", login: "a", avatar: "b"), writtenAt: .now()), for: "you")
    }
  }

  @Test func `the manifest has the documents of the sessions`() throws {
    let folder = GenerationFolder(target: "GeneratedShapes")
    let manifest = try GraphQLManifest(json: Data(contentsOf: folder.url.appendingPathComponent("manifest.json")))
    let operations = try folder.generate().operations
    #expect(manifest.operations.map(\.body).sorted() == operations.map(\.document).sorted())
    for query in [NodeKindsSession.Session.query, CommentsSession.Session.query, LaterLabelledSession.Session.query] {
      #expect(manifest.id(of: query) == query.sha256)
    }
  }
}

private struct TestFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
