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
    /// Whether what is sent waits, and what does.
    var isHeld = false
    var held: [@Sendable () -> Void] = []
    var isGiven = false
    var others = 2
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
    for (field, isGiven) in [("addReaction", true), ("removeReaction", false)] {
      try server.resolve("Mutation.\(field)") { [self] request in
        if request.arguments["input"]?["content"] == "THUMBS_UP" { state.withLock { $0.isGiven = isGiven } }
        return ["subject": issue()]
      }
    }
  }

  private func issue() -> JSONValue {
    let (count, isGiven) = (reactors, state.withLock { $0.isGiven })
    let groups: [JSONValue] = [
      ["content": "HEART", "viewerHasReacted": false, "reactors": ["totalCount": 1]],
      ["content": "THUMBS_UP", "viewerHasReacted": .bool(isGiven), "reactors": ["totalCount": .integer(Int64(count))]],
    ]
    return [
      "__typename": "Issue", "id": "I_7", "number": 7, "title": "Oolong is missing", "state": "OPEN",
      "author": ["__typename": "User", "login": "wei"], "labels": ["nodes": [["name": "bug"]]],
      "comments": ["totalCount": 0], "bodyText": "It is empty.", "reactionGroups": .array(groups),
    ]
  }

  /// How many have given it a thumbs-up, as the server knows.
  var reactors: Int { state.withLock { $0.others + ($0.isGiven ? 1 : 0) } }

  /// Others give it a thumbs-up.
  func addReactors(_ count: Int) { state.withLock { $0.others += count } }

  /// Lets the server refuse reactions.
  func refuseReactions() throws { try server.fail("Mutation.addReaction", "The conversation is locked.") }

  // MARK: - The network

  var isOnline: Bool {
    get { state.withLock { $0.isOnline } }
    set { state.withLock { $0.isOnline = newValue } }
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
      guard isOnline else {
        observer.onError(RequestError(.cannotConnect, "There is no network."))
        return Disposables.create()
      }
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
