import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import SocketHTTP

/// S3: whatever a server repeats of what was sent, by whichever way, shows none of it. Each case sends a secret of every
/// kind over a real socket to a server that repeats all of them.
@Suite(.timeLimit(.minutes(2))) struct RedactionTableTests {
  /// What adds the secret to what is sent.
  private enum Kind: String, CaseIterable {
    case defaultHeader, authMiddleware, otherMiddleware, query, basicUser, basicPassword, sessionSecret
    case preparedHeader, nestedPayload, preparedQuery

    var value: String { "CANARY-\(rawValue)-6f1d2c3b" }

    static let overHTTP: [Kind] = [
      .defaultHeader, .authMiddleware, .otherMiddleware, .query, .basicUser, .basicPassword, .sessionSecret,
    ]
    static let overSockets: [Kind] = [
      .defaultHeader, .authMiddleware, .basicUser, .basicPassword, .sessionSecret, .preparedHeader, .nestedPayload,
      .preparedQuery,
    ]
  }

  /// All of them, as a server repeats them.
  private static let echo = Kind.allCases.map { "\($0.value) is no good" }.joined(separator: "; ")

  /// How a server repeats them.
  private enum Quote: CaseIterable {
    case refusal, outage, operationError, resultErrors, deferredErrors, connectionError, closure, lossByClosure,
      nonsense
  }

  private struct Signer: HTTPMiddleware {
    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      .deferred {
        var request = request
        try request.headers.set("X-Signature", to: Kind.otherMiddleware.value)
        return next(request)
      }
    }
  }

  private struct Ticks: GraphQLSubscription {
    struct ResponseData: Decodable, Sendable { let tick: Int? }
    static let query: GraphQLDocument = "subscription tick { tick }"
    var errorPolicy = GraphQLErrorPolicy.none
    var secrets: [String] { [Kind.sessionSecret.value] }
  }

  private struct Tick: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let tick: Int? }
    static let query: GraphQLDocument = "query tick { tick }"
    var secrets: [String] { [Kind.sessionSecret.value] }
  }

  private struct Observer: RequestObserver {
    let events: Locked<[String]>

    func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
      { [events] event in events.withLock { $0.append(everythingShown(of: event)) } }
    }
  }

  private let shown = Locked<[String]>([])

  private func client(_ server: ScriptedServer, query: Bool = true) throws -> APIClient {
    let basic = Data("\(Kind.basicUser.value):\(Kind.basicPassword.value)".utf8).base64EncodedString()
    let tokens = InMemoryTokenProvider(AccessToken(Kind.authMiddleware.value, account: "a")) { _ in
      .error(RequestError(.httpStatus, "No: \(Self.echo)", status: 401))
    }
    var client = try APIClient(
      baseURL: url("http://127.0.0.1:\(server.port)/graphql" + (query ? "?sid=\(Kind.query.value)" : "")),
      transport: SocketTransport(),
      defaultHeaders: HTTPHeaders([
        HTTPField(name: "X-Api-Key", value: Kind.defaultHeader.value),
        HTTPField(name: "Authorization", value: "Basic \(basic)"),
      ]),
      middlewares: [
        LoggingMiddleware(detail: .headers) { [shown] line in shown.withLock { $0.append(line) } },
        AuthMiddleware(tokens, fieldName: "X-Token"), Signer(),
      ])
    client.observer = Observer(events: shown)
    return client
  }

  private func expectNothing(_ kinds: [Kind], in text: String, sourceLocation: SourceLocation = #_sourceLocation) {
    for kind in kinds {
      #expect(!text.contains(kind.value.prefix(15)), "\(kind): \(text)", sourceLocation: sourceLocation)
    }
  }

  // MARK: - Requests

  @Test(arguments: [
    RawResponse(401, contentType: "text/plain", body: echo), RawResponse(500, body: "{\"error\": \"\(echo)\"}"),
    RawResponse(body: "{\"data\": null, \"errors\": [{\"message\": \"\(echo)\", \"path\": [\"\(echo)\"]}]}"),
    RawResponse(body: "{\"data\": {\"tick\": \"\(echo)\"}}"), RawResponse(contentType: "text/html", body: echo),
  ]) func `S3: no error, event or log line of a request shows what a server repeats`(response: RawResponse) async throws
  {
    let server = try ScriptedServer(.answering { _ in response })
    let error = try await Tick().post(on: client(server)).failure
    let text = try everythingShown(of: #require(error)) + everythingShown(of: error?.graphQLErrors as Any)
    expectNothing(Kind.overHTTP, in: text)
    expectNothing(Kind.overHTTP, in: shown.withLock { $0.joined(separator: "\n") })
    #expect(shown.withLock { $0.count } > 4)
  }

  @Test func `S3: no error shows the path that a redirect has named`() async throws {
    let secret = "CANARY-path-6f1d2c3b"
    for (status, location) in [(308, "/reset/\(secret)"), (302, "http://other.example/reset/\(secret)#\(secret)")] {
      let server = try ScriptedServer(
        .answering { request in
          request.target.contains(secret)
            ? RawResponse(404, contentType: "text/plain", body: "no \(request.target)")
            : RawResponse(status, headers: [("Location", location)])
        })
      for middlewares: [any HTTPMiddleware] in [[], [RedirectMiddleware()], [RedirectMiddleware(limit: 0)]] {
        var client = try client(server, query: false)
        client.middlewares = middlewares
        let error = await Tick().post(on: client).failure
        #expect(error != nil)
        let text = everythingShown(of: error as Any) + shown.withLock { $0.joined() }
        #expect(!text.contains(secret), "\(text)")
      }
    }
  }

  @Test func `S3: no error of a batch that is cut quotes what came for other queries`() async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(body: #"[{"data": {"tick": 1}}, {"data": {"tick": 2, "note": "another's note"#) })
    var client = try APIClient(baseURL: url("http://127.0.0.1:\(server.port)/graphql"), transport: SocketTransport())
    client.graphQL.wire.batching = .within(.seconds(5), upTo: 2)
    struct Query: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let tick: Int? }
      static let query: GraphQLDocument = "query tick { tick }"
    }
    let shared = client
    async let first = Query().post(on: shared).failure
    async let second = Query().post(on: shared).failure
    for error in await [first, second] {
      #expect(error?.kind == .undecodable)
      #expect(error?.message.contains("a batch of 2 queries cannot be read") == true)
      #expect(!everythingShown(of: error as Any).contains("another's"))
    }
  }

  // MARK: - Responses in parts

  /// How a response in parts repeats the secrets.
  private enum PartQuote: CaseIterable {
    case completedErrors, partErrors, flatErrors, itemErrors, pathOfFailure, laterErrors
    case unknownID, twiceAnnounced, unknownPath, missingEnd, cutExtensions, cutData, wrongType, eventStreamErrors

    /// The payloads; without an end, the response is cut.
    var payloads: [String] {
      let errors = #"[{"message": "\#(echo)", "path": ["\#(echo)"], "extensions": {"a": ["\#(echo)"], "\#(echo)": 1}}]"#
      let first = #"{"data": {"user": {"name": "Wei", "list": []}}, "hasNext": true"#
      let announced = first + #", "pending": [{"id": "0", "path": ["user"], "label": "stats"}]}"#
      return switch self {
      case .completedErrors:
        [announced, #"{"completed": [{"id": "0", "errors": \#(errors)}], "hasNext": false}"#]
      case .partErrors:
        [
          first + "}",
          #"{"incremental": [{"path": ["user"], "label": "stats", "data": null, "errors": \#(errors)}], "hasNext": false}"#,
        ]
      case .flatErrors:
        [first + "}", #"{"path": ["user"], "label": "stats", "data": null, "errors": \#(errors), "hasNext": false}"#]
      case .itemErrors:
        [
          first + "}",
          #"{"incremental": [{"path": ["user", "list"], "items": null, "errors": \#(errors)}], "hasNext": false}"#,
        ]
      case .pathOfFailure:
        [first + "}", #"{"incremental": [{"path": ["user", "\#(echo)"], "data": null}], "hasNext": false}"#]
      case .laterErrors: [first + "}", #"{"errors": \#(errors), "hasNext": false}"#]
      case .unknownID: [first + "}", #"{"completed": [{"id": "\#(echo)"}], "hasNext": false}"#]
      case .twiceAnnounced:
        [#"{"data": {}, "pending": [{"id": "\#(echo)", "path": []}, {"id": "\#(echo)", "path": []}], "hasNext": true}"#]
      case .unknownPath:
        [first + "}", #"{"incremental": [{"path": ["user", "\#(echo)"], "items": [1]}], "hasNext": false}"#]
      case .missingEnd:
        [#"{"data": {"user": {}}, "pending": [{"id": "\#(echo)", "path": ["user"]}], "hasNext": false}"#]
      case .cutExtensions: [first + #", "extensions": {"\#(echo)": "\#(echo)"}}"#]
      case .cutData: [first.replacing("Wei", with: echo) + "}"]
      case .wrongType: [first + "}", #"{"incremental": [{"path": [], "data": {"user": {"\#(echo)": 1, "name": 1}}}]}"#]
      case .eventStreamErrors: []
      }
    }

    var response: RawResponse {
      if self == .eventStreamErrors {
        return RawResponse(
          contentType: "text/event-stream", body: "event: next\ndata: {\"errors\": [{\"message\": \"\(echo)\"}]}\n\n")
      }
      let isCut = self == .cutExtensions || self == .cutData
      let parts = payloads.map { "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n\($0)" }
      return RawResponse(
        contentType: "multipart/mixed; boundary=\"graphql\"; deferSpec=20220824",
        body: parts.joined() + (isCut ? "\r\n--gra" : "\r\n--graphql--\r\n"))
    }
  }

  private struct Growing: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let user: User? }
    struct User: Decodable, Sendable {
      let name: String?
      let stats: Deferred<Stats>
    }
    struct Stats: Decodable, Sendable { let likeCount: Int }
    static let query: GraphQLDocument =
      "query growing { user { name list @stream ... @defer(label: \"stats\") { likeCount } } }"
    var errorPolicy = GraphQLErrorPolicy.all
    var secrets: [String] { [Kind.sessionSecret.value] }
  }

  @Test(arguments: PartQuote.allCases, [GraphQLErrorPolicy.all, .ignore, .none])
  private func `S3: no error of a response in parts shows what a server repeats`(
    quote: PartQuote, policy: GraphQLErrorPolicy
  ) async throws {
    let server = try ScriptedServer(.answering { _ in quote.response })
    let session = Growing(errorPolicy: policy)
    let seen = try Seen(session.responses(on: client(server)))
    let state = try await seen.state.wait { $0.isEnded }
    let fragments = state.elements.compactMap { $0.data.user?.stats }
    expectNothing(
      Kind.overHTTP,
      in: everythingShown(of: fragments) + everythingShown(of: state.elements.map(\.response.errors))
        + everythingShown(of: state.error as Any) + everythingShown(of: state.error?.graphQLErrors as Any))
    switch quote {
    case .completedErrors, .partErrors, .flatErrors:
      let failed = fragments.last?.errors ?? state.error?.graphQLErrors ?? []
      #expect(failed.first?.message.hasPrefix("<redacted> is no good; <redacted> is no good") == true)
    case .itemErrors, .pathOfFailure, .laterErrors: #expect((state.error == nil) == (policy != .none))
    default: #expect(state.error != nil)
    }

    let whole = try Seen(session.post(on: client(server)))
    let end = try await whole.state.wait { $0.isEnded }
    expectNothing(
      Kind.overHTTP,
      in: everythingShown(of: end.elements.compactMap { $0.data.user?.stats })
        + everythingShown(of: end.elements.map(\.errors)) + everythingShown(of: end.error as Any)
        + everythingShown(of: end.error?.graphQLErrors as Any))
    expectNothing(Kind.overHTTP, in: shown.withLock { $0.joined(separator: "\n") })
  }

  // MARK: - Subscriptions

  private func frame(_ text: String, opcode: UInt8 = 0x1) -> [UInt8] { frame(Array(text.utf8), opcode: opcode) }

  private func frame(_ payload: [UInt8], opcode: UInt8) -> [UInt8] {
    let length =
      payload.count < 126 ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    return [0x80 | opcode] + length + payload
  }

  private func closeFrame(_ code: UInt16, _ reason: String) -> [UInt8] {
    frame([UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8.prefix(123)), opcode: 0x8)
  }

  /// A WebSocket's server that repeats the secrets; `nil` where a WebSocket has no such way.
  private func socketScript(_ quote: Quote, _ reason: String) -> [ScriptedServer.Step]? {
    let upgrade = ScriptedServer.Step.respond { request in
      RawResponse(
        101, contentType: nil,
        headers: [
          ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Protocol", "graphql-transport-ws"),
          ("Sec-WebSocket-Accept", Handshake.accept(for: request["Sec-WebSocket-Key"] ?? "")),
        ])
    }
    let errors = #"[{"message": "\#(Self.echo)", "extensions": {"a": ["\#(Self.echo)"]}}]"#
    let bytes: [UInt8]
    switch quote {
    case .refusal: return [.readRequest, .send(RawResponse(401, contentType: "text/plain", body: reason))]
    case .outage: return [.readRequest, .send(RawResponse(503, contentType: "text/plain", body: reason))]
    case .operationError: bytes = frame(#"{"id": "1", "type": "error", "payload": \#(errors)}"#)
    case .resultErrors, .deferredErrors:
      bytes = frame(#"{"id": "1", "type": "next", "payload": {"data": {"tick": null}, "errors": \#(errors)}}"#)
    case .connectionError: bytes = frame(#"{"type": "connection_error", "payload": {"message": "\#(Self.echo)"}}"#)
    case .closure: bytes = closeFrame(4403, reason)
    case .lossByClosure: bytes = closeFrame(1011, reason)
    case .nonsense: bytes = frame(#"{"type": "\#(Self.echo)"}"#)
    }
    return [
      .readRequest, upgrade, .send(frame(#"{"type": "connection_ack"}"#)), .send(bytes), .waitForClientToClose,
    ]
  }

  private func events(_ client: APIClient, _ quote: Quote) async throws -> String {
    let subscription = Ticks(errorPolicy: quote == .deferredErrors ? .all : .none)
    let seen = Seen(subscription.subscribe(on: client))
    let state = try await seen.state.wait { state in
      state.isEnded
        || state.elements.contains { event in
          switch event {
          case .disconnected, .value, .failed: true
          default: false
          }
        }
    }
    seen.dispose()
    let values = state.elements.compactMap { $0.value?.errors }
    return everythingShown(of: state.elements) + everythingShown(of: values) + everythingShown(of: state.error as Any)
      + everythingShown(of: state.error?.graphQLErrors as Any) + shown.withLock { $0.joined() }
  }

  @Test(arguments: Quote.allCases)
  private func `S3: nothing that a WebSocket brings shows what a server repeats`(quote: Quote) async throws {
    // A close frame has room for some at a time.
    let isShort = [.refusal, .outage, .closure, .lossByClosure].contains(quote)
    let reasons = isShort ? Kind.overSockets.map { "no \($0.value)" } : [Self.echo]
    for reason in reasons {
      let script = try #require(socketScript(quote, reason))
      let server = try ScriptedServer { _ in script }
      var client = try client(server, query: false)
      client.graphQL.live = .webSocket { opening in
        try opening.headers.set("X-Prepared", to: Kind.preparedHeader.value)
        opening.payload = ["headers": [["Authorization": .string("Bearer \(Kind.nestedPayload.value)")]]]
        opening.url = try url("\(opening.url.absoluteString)?sid=\(Kind.preparedQuery.value)")
      }
      let text = try await events(client, quote)
      expectNothing(Kind.overSockets, in: text)
    }
  }

  @Test(
    arguments: [Quote.refusal, .outage, .resultErrors, .deferredErrors, .nonsense],
    [LiveWay.eventStream, .multipart])
  private func `S3: nothing that a stream brings shows what a server repeats`(quote: Quote, way: LiveWay) async throws {
    let result = #"{"data": {"tick": null}, "errors": [{"message": "\#(Self.echo)"}]}"#
    let response =
      switch quote {
      case .refusal: RawResponse(401, contentType: "text/plain", body: Self.echo)
      case .outage: RawResponse(503, contentType: "text/plain", body: Self.echo)
      case .nonsense:
        way == .eventStream
          ? RawResponse(contentType: "text/event-stream", body: "event: next\ndata: {\"data\": \"\(Self.echo)\"}\n\n")
          : RawResponse(contentType: "text/x-\(Kind.query.value)", body: Self.echo)
      default:
        way == .eventStream
          ? RawResponse(contentType: "text/event-stream", body: "event: next\ndata: \(result)\n\n")
          : RawResponse(
            contentType: "multipart/mixed;boundary=\"graphql\";subscriptionSpec=1.0",
            body: "--graphql\r\nContent-Type: application/json\r\n\r\n{\"payload\": \(result)}\r\n--graphql--\r\n")
      }
    let server = try ScriptedServer(.answering { _ in response })
    var client = try client(server)
    client.graphQL.live = way.transport()
    expectNothing(Kind.overHTTP, in: try await events(client, quote))
  }

  @Test func `S3: a refused upgrade shows none of its secrets without a client, too`() async throws {
    let values = ["CANARY-header-6f1d2c3b", "CANARY-query-6f1d2c3b", "base64.bearer.CANARY-6f1d2c3b"]
    let server = try ScriptedServer(
      .answering { _ in
        RawResponse(
          403, contentType: "text/plain", headers: [("X-Echo", values[0])], body: values.joined(separator: " "))
      })
    let request = try WebSocketRequest(
      url: url("ws://127.0.0.1:\(server.port)/?token=\(values[1])"),
      headers: HTTPHeaders([HTTPField(name: "X-Token", value: values[0])]),
      subprotocols: ["graphql-ws", values[2]])
    let error = try #require(await SocketTransport().connect(request).failure)
    #expect(error.status == 403)
    #expect(error.excerpt == "<redacted> <redacted> <redacted>")
    for text in [everythingShown(of: error), everythingShown(of: request)] { #expect(!text.contains("CANARY")) }
    #expect("\(request)".hasSuffix(", graphql-ws, <redacted>"))
    let wrong = #expect(throws: RequestError.self) {
      try WebSocketRequest(url: url("ws://127.0.0.1/"), subprotocols: ["CANARY secret"])
    }
    #expect(wrong?.message.contains("CANARY") == false)
  }
}
