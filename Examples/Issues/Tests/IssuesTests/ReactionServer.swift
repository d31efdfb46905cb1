import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import Streams
import StrictJSON
import Synchronization

/// A server with one issue, to which others react, too; and the network to it, which may be away.
final class ReactionServer: HTTPTransport {
  private struct State {
    var isOnline = true
    var losesReactions = false
    var isRefusing = false
    /// Whether what is sent waits, and what does.
    var isHeld = false
    var held: [@Sendable () -> Void] = []
    /// The viewer's reactions.
    var own: Set<String> = []
    /// Those of others.
    var others = ["HEART": 1, "THUMBS_UP": 2]
  }

  private let server: TestServer
  private let state = Mutex(State())

  init() throws {
    server = TestServer(
      schema: try schema(), samples: ["URI": ["https://github.example/issues/7"], "DateTime": ["2026-03-04T08:30:00Z"]])
    let nodes: TestServer.Resolver = { [self] _ in
      ["nodes": [issue()], "pageInfo": ["hasNextPage": false, "endCursor": "7"]]
    }
    try server.resolve("Repository.issues", nodes)
    try server.resolve("Query.search", nodes)
    try server.resolve("Repository.issue") { [self] request in
      request.arguments["number"] == 7 ? issue() : .null
    }
    try server.resolve("Mutation.addReaction") { [self] request in
      let content = request.arguments["input"]?["content"]?.stringValue ?? ""
      state.withLock { state in _ = state.own.insert(content) }
      return ["subject": issue()]
    }
    try server.resolve("Mutation.removeReaction") { [self] request in
      let content = request.arguments["input"]?["content"]?.stringValue ?? ""
      state.withLock { state in _ = state.own.remove(content) }
      return ["subject": issue()]
    }
  }

  private func issue() -> JSONValue {
    let groups = state.withLock { state in
      state.others.sorted { $0.key < $1.key }.map { content, others -> JSONValue in
        let isOwn = state.own.contains(content)
        return [
          "content": .string(content), "viewerHasReacted": .bool(isOwn),
          "reactors": ["totalCount": .integer(Int64(others + (isOwn ? 1 : 0)))],
        ]
      }
    }
    return [
      "__typename": "Issue", "id": "I_7", "number": 7, "title": "Oolong is missing", "state": "OPEN",
      "author": ["__typename": "User", "login": "wei"], "labels": ["nodes": [["name": "bug"]]],
      "comments": ["totalCount": 0], "bodyText": "It is empty.", "reactionGroups": .array(groups),
    ]
  }

  /// Whether the viewer has given it a thumbs-up, as the server knows.
  var hasThumb: Bool { state.withLock { $0.own.contains("THUMBS_UP") } }

  /// Others give it a thumbs-up.
  func addThumbs(_ count: Int) { state.withLock { $0.others["THUMBS_UP", default: 0] += count } }

  /// Lets the server refuse reactions.
  func refuseReactions() throws { try server.fail("Mutation.addReaction", "The conversation is locked.") }

  // MARK: - The network

  var isOnline: Bool {
    get { state.withLock { $0.isOnline } }
    set { state.withLock { $0.isOnline = newValue } }
  }

  /// Whether reactions do not reach the server, and all else does.
  var losesReactions: Bool {
    get { state.withLock { $0.losesReactions } }
    set { state.withLock { $0.losesReactions = newValue } }
  }

  /// Whether every token is refused.
  var isRefusing: Bool {
    get { state.withLock { $0.isRefusing } }
    set { state.withLock { $0.isRefusing = newValue } }
  }

  /// Lets requests wait.
  func hold() { state.withLock { $0.isHeld = true } }

  /// Lets what waits, and what comes, reach the server.
  func goOn() {
    let held = state.withLock { state in
      state.isHeld = false
      defer { state.held = [] }
      return state.held
    }
    for send in held { send() }
  }

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .create { [self] observer in
      guard isOnline, !losesReactions || request.operationName != "setReaction" else {
        observer.onError(RequestError(.cannotConnect, "There is no network."))
        return Disposables.create()
      }
      guard !isRefusing else { return Observable.just(.head(.init(status: 401))).subscribe(observer) }
      let bag = DisposeBag()
      let send = { @Sendable [server] in server.send(request).subscribe(observer).disposed(by: bag) }
      let isHeld = state.withLock { state in
        if state.isHeld { state.held.append(send) }
        return state.isHeld
      }
      if !isHeld { send() }
      return Disposables.create { bag.dispose() }
    }
  }
}
