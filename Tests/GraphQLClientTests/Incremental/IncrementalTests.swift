import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import TestSupport
import Testing

private struct AnyData: GraphQLSession {
  typealias ResponseData = JSONValue
  static let query: GraphQLDocument = "query anyData { a @stream }"
}

private struct DataWithErrors: GraphQLSession {
  typealias ResponseData = JSONValue
  static let query: GraphQLDocument = "query dataWithErrors { a @stream }"
  var errorPolicy: GraphQLErrorPolicy { .all }
}

private struct GetFriends: GraphQLSession {
  struct ResponseData: Decodable, Sendable, Equatable {
    let user: User
  }
  struct User: Decodable, Sendable, Equatable {
    let name: String
    let friends: [Friend]?
    let stats: Deferred<Stats>
  }
  struct Stats: Decodable, Sendable, Equatable {
    let likeCount: Int
    let rank: Deferred<Rank>
  }
  struct Rank: Decodable, Sendable, Equatable {
    let place: Int
  }
  struct Friend: Decodable, Sendable, Equatable {
    let name: String
  }
  static let query: GraphQLDocument = """
    query user {
      user {
        name
        ...stats @defer(label: "stats")
        ... @defer { friends @stream(initialCount: 1) { name } }
      }
    }
    fragment stats on User { likeCount ... @defer(label: "rank") { place } }
    """
  var policy = GraphQLErrorPolicy.none
  var errorPolicy: GraphQLErrorPolicy { policy }
}

@Suite struct IncrementalTests {
  @Test func `the request of responses in parts takes no place of others; that of a whole response does`() async throws
  {
    let transport = ScriptedTransport(always: .json(#"{"data":{"a":[]}}"#))
    let client = try client(transport)
    for try await _ in AnyData().responses(on: client).values {}
    _ = try await AnyData().data(on: client).value
    #expect(transport.requests.map(\.isStream) == [true, false])
  }

  @Test(arguments: IncrementalForm.allCases)
  func `G10: the merged response equals that without the directives`(form: IncrementalForm) async throws {
    for seed in 0..<150 {
      var random = RandomIncrementalResponse(seed: UInt64(seed))
      let script = random.script()
      let payloads = random.payloads(of: script, in: form)
      let parts = try random.parts(of: payloads)
      let client = try IncrementalServer.client(IncrementalServer(parts: parts))
      var responses: [IncrementalResponse<JSONValue>] = []
      for try await response in AnyData().responses(on: client).values { responses.append(response) }
      #expect(responses.last?.data == script.whole, "seed \(seed)")
      #expect(responses.map(\.isComplete) == responses.map { _ in false }.dropLast() + [true], "seed \(seed)")
      #expect(responses.first?.data == script.initial || payloads[0]["incremental"] != nil, "seed \(seed)")
      #expect(try await AnyData().data(on: client).value == script.whole, "seed \(seed)")
    }
  }

  static let payloads: [IncrementalForm: [String]] = [
    .ids: [
      #"{"data":{"user":{"name":"Wei"}},"pending":[{"id":"0","path":["user"],"label":"stats"},{"id":"1","path":["user"]}],"hasNext":true}"#,
      #"{"pending":[{"id":2,"path":["user"],"label":"rank"},{"id":"3","path":["user","friends"]}],"incremental":[{"id":"0","data":{"likeCount":7}},{"id":"1","data":{"friends":[{"name":"A"}]}}],"completed":[{"id":"0"},{"id":"1"}],"hasNext":true}"#,
      #"{"incremental":[{"id":"3","items":[{"name":"B"}]},{"id":"2","data":{"place":1}}],"completed":[{"id":"2"},{"id":"3"}],"hasNext":true}"#,
      #"{"hasNext":false}"#,
    ],
    .paths: [
      #"{"data":{"user":{"name":"Wei"}},"hasNext":true}"#,
      #"{"incremental":[{"path":["user"],"label":"stats","data":{"likeCount":7}},{"path":["user"],"data":{"friends":[{"name":"A"}]}}],"hasNext":true}"#,
      #"{"incremental":[{"path":["user","friends",1],"items":[{"name":"B"}]},{"path":["user"],"label":"rank","data":{"place":1}}],"hasNext":true}"#,
      #"{"hasNext":false}"#,
    ],
    .flat: [
      #"{"data":{"user":{"name":"Wei"}},"hasNext":true}"#,
      #"{"path":["user"],"data":{"friends":[{"name":"A"}]},"hasNext":true}"#
        + "\r\n--graphql\r\n\r\n"
        + #"{"path":["user"],"label":"stats","data":{"likeCount":7},"hasNext":true}"#,
      #"{"path":["user","friends",1],"data":{"name":"B"},"hasNext":true}"#
        + "\r\n--graphql\r\n\r\n"
        + #"{"path":["user"],"label":"rank","data":{"place":1},"hasNext":true}"#,
      #"{"hasNext":false}"#,
    ],
  ]

  private static func user(_ friends: [String]?, _ stats: Deferred<GetFriends.Stats>) -> GetFriends.ResponseData {
    .init(user: .init(name: "Wei", friends: friends?.map { .init(name: $0) }, stats: stats))
  }

  private static let growth = [
    user(nil, .pending),
    user(["A"], .ready(.init(likeCount: 7, rank: .pending))),
    user(["A", "B"], .ready(.init(likeCount: 7, rank: .ready(.init(place: 1))))),
    user(["A", "B"], .ready(.init(likeCount: 7, rank: .ready(.init(place: 1))))),
  ]

  @Test(arguments: [.ids, .paths, .flat] as [IncrementalForm], [false, true])
  func `a deferred fragment is pending, and then ready, for both decoders`(form: IncrementalForm, byFoundation: Bool)
    async throws
  {
    var parts: [HTTPResponsePart] = [.head(IncrementalServer.head)]
    for payload in try #require(Self.payloads[form]) {
      parts.append(.body(Data("\r\n--graphql\r\nContent-Type: application/json\r\n\r\n\(payload)".utf8)))
    }
    parts.append(.body(Data("\r\n--graphql--\r\n".utf8)))
    var client = try IncrementalServer.client(IncrementalServer(parts: parts))
    if byFoundation { client.decoder = FoundationJSON() }
    var responses: [IncrementalResponse<GetFriends.ResponseData>] = []
    for try await response in GetFriends().responses(on: client).values { responses.append(response) }
    #expect(responses.map(\.data) == Self.growth)
    #expect(responses.map(\.isComplete) == [false, false, false, true])
    #expect(try await GetFriends().post(on: client).value.data == Self.growth[3])
  }

  @Test func `G10: names of any length lead to where a part belongs`() async throws {
    let (long, other) = (String(repeating: "a", count: 129), String(repeating: "a", count: 128))
    let payloads = [
      #"{"data":{"\#(long)":{},"\#(other)":{}},"pending":[{"id":"0","path":["\#(long)"]}],"hasNext":true}"#,
      #"{"incremental":[{"id":"0","data":{"b":1}}],"completed":[{"id":"0"}],"hasNext":false}"#,
    ]
    var parts: [HTTPResponsePart] = [.head(IncrementalServer.head)]
    for payload in payloads { parts.append(.body(Data("\r\n--graphql\r\n\r\n\(payload)".utf8))) }
    parts.append(.body(Data("\r\n--graphql--\r\n".utf8)))
    let client = try IncrementalServer.client(IncrementalServer(parts: parts))
    #expect(try await AnyData().data(on: client).value == [long: ["b": 1], other: [:]])
  }

  @Test func `a server that ignores the directives gives one complete response`() async throws {
    let transport = ScriptedTransport()
    transport.always(
      .any,
      .json(#"{"data":{"user":{"name":"Wei","likeCount":7,"place":1,"friends":[{"name":"A"},{"name":"B"}]}}}"#))
    let client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: transport)
    let responses = try await GetFriends().responses(on: client).values.reduce(into: []) { $0.append($1) }
    #expect(responses == [IncrementalResponse(GraphQLResponse(data: Self.growth[3]), isComplete: true)])
    #expect(try await GetFriends().data(on: client).value == Self.growth[3])
    let accept =
      "multipart/mixed;incrementalSpec=v0.2, multipart/mixed;deferSpec=20220824;q=0.9, "
      + "application/graphql-response+json;q=0.8, application/json;q=0.7"
    #expect(transport.requests.map { $0.headers["Accept"] } == [accept, accept])
  }

  @Test func `a fragment that fails is an error by the policy none, and failed in the type by the others`() async throws
  {
    let payloads = [
      #"{"data":{"user":{"name":"Wei"}},"pending":[{"id":"0","path":["user"],"label":"stats"}],"hasNext":true}"#,
      #"{"completed":[{"id":"0","errors":[{"message":"out of order","path":["user","likeCount"]}]}],"hasNext":false}"#,
    ]
    let older = [
      #"{"data":{"user":{"name":"Wei"}},"hasNext":true}"#,
      #"{"incremental":[{"path":["user"],"label":"stats","data":null,"errors":[{"message":"out of order","path":["user","likeCount"]}]}],"hasNext":false}"#,
    ]
    let error = GraphQLError(message: "out of order", path: [.key("user"), .key("likeCount")])
    for payloads in [payloads, older] {
      let client = try IncrementalServer.client(sending: payloads)
      let responses = try await GetFriends(policy: .all).responses(on: client).values.reduce(into: []) { $0.append($1) }
      #expect(responses.map(\.data) == [Self.user(nil, .pending), Self.user(nil, .failed([error]))])
      #expect(responses.last?.response.errors == [error])
      let seen = Seen(GetFriends().responses(on: client))
      let end = try await seen.state.wait { $0.isEnded }
      #expect(end.elements.map(\.data) == [Self.user(nil, .pending)])
      #expect(end.error?.kind == .graphQL)
      #expect(end.error?.graphQLErrors == [error])
    }
  }

  @Test(arguments: [false, true])
  func `G10: a cut is an error that keeps what came`(isTransportError: Bool) async throws {
    let payloads = try #require(Self.payloads[.ids]).prefix(2)
    let client = try IncrementalServer.client(
      sending: Array(payloads), isCut: true, error: isTransportError ? RequestError(.connectionLost, "gone") : nil)
    let seen = Seen(GetFriends().responses(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.map(\.data) == Array(Self.growth.prefix(2)))
    #expect(end.elements.allSatisfy { !$0.isComplete })
    #expect(end.error?.kind == .connectionLost)
    #expect(end.error?.operationName == "user")
    let kept = try #require(end.error?.cause as? IncompleteResponse<GetFriends.ResponseData>)
    #expect(kept.response.data == Self.growth[1])
    await #expect { try await GetFriends().post(on: client).value } throws: {
      ($0 as? RequestError)?.kind == .connectionLost
    }
  }

  @Test func `S3: what an error keeps of a response that was cut does not repeat a secret`() async throws {
    let payload = #"{"data":{"a":[1]},"errors":[{"message":"no canary-0123456789"}],"hasNext":true}"#
    var client = try IncrementalServer.client(sending: [payload], isCut: true)
    client.defaultHeaders = ["Authorization": "Bearer canary-0123456789"]
    let seen = Seen(DataWithErrors().post(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    let kept = try #require(end.error?.cause as? IncompleteResponse<JSONValue>)
    #expect(kept.response.data == ["a": [1]])
    #expect(kept.response.errors.map(\.message) == ["no <redacted>"])
  }

  @Test
  func `G10: a payload that does not say whether others follow is the last only where the response ends as it should`()
    async throws
  {
    let payloads = [
      #"{"data":{"a":[1]},"hasNext":true}"#, #"{"incremental":[{"path":["a",1],"items":[2]}]}"#,
      #"{"incremental":[{"path":["a",2],"items":[3]}]}"#,
    ]
    for (count, isCut) in [(1, true), (2, true), (3, true), (2, false), (3, false)] {
      let client = try IncrementalServer.client(sending: Array(payloads.prefix(count)), isCut: isCut)
      let seen = Seen(AnyData().responses(on: client))
      let end = try await seen.state.wait { $0.isEnded }
      let whole = try JSONValue(json: "{\"a\":[\((1...count).map(String.init).joined(separator: ","))]}")
      #expect(end.elements.last?.data == whole, "\(count)")
      #expect(end.elements.last?.isComplete == !isCut, "\(count)")
      #expect(end.error?.kind == (isCut ? .connectionLost : nil))
      let response = try? await AnyData().post(on: client).value
      if isCut { #expect(response == nil) } else { #expect(response?.data == whole) }
    }
  }

  @Test func `a response of very many parts is decoded in proportion to its size, and its last element is whole`()
    async throws
  {
    let count = 4_000
    var payloads = [#"{"data":{"a":[]},"hasNext":true}"#]
    for number in 0..<count {
      payloads.append(#"{"incremental":[{"path":["a",\#(number)],"items":["\#(number)"]}],"hasNext":true}"#)
    }
    payloads.append(#"{"hasNext":false}"#)
    let client = try IncrementalServer.client(sending: payloads)
    let seen = Seen(
      AnyData().responses(on: client).map { ($0.data["a"]?.arrayValue?.count ?? 0, $0.isComplete) }.map(Step.init))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.last == Step((count, true)))
    #expect(end.elements.dropLast().allSatisfy { !$0.isComplete })
    #expect(end.elements.map(\.count) == end.elements.map(\.count).sorted())
    // All of them each time would be 8 million.
    #expect(end.elements.reduce(0) { $0 + $1.count } < 400_000)
    #expect(end.elements.count > 100)
  }

  private struct Step: Equatable, Sendable {
    let count: Int
    let isComplete: Bool

    init(_ step: (Int, Bool)) { (count, isComplete) = step }
  }

  @Test func `what is held back of a response of very many parts comes soon, also if nothing more does`() async throws {
    let server = StallingServer()
    let client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: server)
    let count = 6_000
    let seen = Seen(AnyData().responses(on: client).map { $0.data["a"]?.arrayValue?.count ?? 0 })
    let body = try (0..<count).map { number in
      try IncrementalServer.body(
        [JSONValue(json: #"{"incremental":[{"path":["a",\#(number)],"items":["\#(number)"]}],"hasNext":true}"#)],
        isCut: true)
    }
    server.parts.onNext(.head(IncrementalServer.head))
    server.parts.onNext(
      .body(try IncrementalServer.body([JSONValue(json: #"{"data":{"a":[]},"hasNext":true}"#)], isCut: true)))
    for piece in body { server.parts.onNext(.body(piece)) }
    try await seen.state.wait { $0.elements.last == count }
    #expect(seen.elements.count < count)
    seen.dispose()
  }

  private struct StallingServer: HTTPTransport {
    let parts = PublishSubject<HTTPResponsePart>()
    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { parts.asObservable() }
  }

  private static let longPath = Array(repeating: #""a""#, count: 10_000).joined(separator: ",")

  @Test(arguments: [
    (#"{"incremental":[{"id":"9","data":{"a":1}}],"hasNext":true}"#, "'9' was not announced"),
    (#"{"completed":[{"id":"9"}],"hasNext":true}"#, "'9' ends, but was not announced"),
    (#"{"pending":[{"id":"0","path":[]}],"hasNext":true}"#, "'0' is announced twice"),
    (#"{"hasNext":false}"#, "it ends although '0' has not arrived"),
    (#"{"data":{"a":2},"hasNext":true}"#, "has data, but no path"),
    (#"{"incremental":[{"data":{"a":1}}],"hasNext":true}"#, "neither an id nor a path"),
    (#"{"incremental":[{"path":["b",0],"data":{"a":1}}],"hasNext":true}"#, "nothing at 'b[0]'"),
    (#"{"incremental":[{"path":["a"],"items":[1]}],"hasNext":true}"#, "'a', which is no list"),
    (#"{"incremental":[{"path":["list",2],"items":[1]}],"hasNext":true}"#, "begin at 2, but it has 1"),
    (#"{"incremental":[{"path":["list",9223372036854775807],"items":[1]}],"hasNext":true}"#, "but it has 1"),
    (#"{"incremental":[{"path":["list",9223372036854775807],"data":1}],"hasNext":true}"#, "is no object"),
    (#"{"incremental":[{"path":["list",9223372036854775807],"data":{}}],"hasNext":true}"#, "there is nothing at"),
    (#"{"incremental":[{"path":["list",-1],"items":[1]}],"hasNext":true}"#, "begin at -1, but it has 1"),
    (#"{"incremental":[{"path":["list",0],"data":2}],"hasNext":true}"#, "what came for 'list[0]' is no object"),
    (#"{"path":["list",0],"data":{"b":2},"hasNext":true}"#, "'list[0]', which is no object"),
    (#"{"incremental":[{"path":["a"],"data":{"b":1}}],"hasNext":true}"#, "'a', which is no object"),
    (#"{"incremental":[{"path":["a","b","c"],"data":{"b":1}}],"hasNext":true}"#, "nothing at 'a.b.c'"),
    (#"{"incremental":[{"path":["list"],"data":{"b":1}}],"hasNext":true}"#, "'list', which is no object"),
    (#"{"incremental":[{"id":"0","subPath":["list",0,0],"data":{}}],"hasNext":true}"#, "nothing at 'list[0][0]'"),
    (#"{"incremental":[{"id":"0","items":[1]}],"hasNext":true}"#, "the top of the data, which is no list"),
    (#"{"incremental":[{"path":[\#(longPath)],"data":{}}],"hasNext":true}"#, "nothing at"),
    (#"{"completed":[{"id":"0"},{"id":"0"}],"hasNext":true}"#, "'0' ends, but was not announced"),
    (#"{"pending":[{"id":"1","path":[]},{"id":"1","path":[]}],"hasNext":true}"#, "'1' is announced twice"),
  ])
  func `a payload that does not fit is an error that says why`(payload: String, reason: String) async throws {
    let client = try IncrementalServer.client(sending: [
      #"{"data":{"a":1,"list":[0]},"pending":[{"id":"0","path":[]}],"hasNext":true}"#, payload,
    ])
    let seen = Seen(AnyData().responses(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.count == 1)
    #expect(end.error?.kind == .badResponse)
    #expect(end.error?.message.contains(reason) == true, "\(String(describing: end.error))")
  }

  @Test func `what a server sends behind the last payload changes nothing, in one piece and in many`() async throws {
    let payloads = [
      #"{"data":{"a":[1]},"hasNext":true}"#, #"{"hasNext":false}"#, #"{"hasNext":false}"#, #"{"data":{}}"#,
    ]
    let body = try IncrementalServer.body(payloads.map { try JSONValue(json: $0) })
    for size in [1, 7, body.count] {
      let pieces = stride(from: 0, to: body.count, by: size).map { body[$0..<min($0 + size, body.count)] }
      let server = IncrementalServer(parts: [.head(IncrementalServer.head)] + pieces.map { .body(Data($0)) })
      let client = try IncrementalServer.client(server)
      let last = try await AnyData().responses(on: client).values.reduce(into: []) { $0.append($1) }.last
      #expect(last?.data == ["a": [1]])
      #expect(last?.isComplete == true)
      #expect(try await AnyData().data(on: client).value == ["a": [1]])
    }
  }

  @Test func `what came before a payload that does not fit is passed on, and kept, although both came in one piece`()
    async throws
  {
    let payloads = [
      #"{"data":{"a":[1]},"hasNext":true}"#, #"{"incremental":[{"path":["a",1],"items":[2]}],"hasNext":true}"#,
      #"{"incremental":[{"path":["a",9],"items":[3]}],"hasNext":true}"#,
    ]
    let body = try IncrementalServer.body(payloads.map { try JSONValue(json: $0) })
    let client = try IncrementalServer.client(
      IncrementalServer(parts: [.head(IncrementalServer.head), .body(body)]))
    let seen = Seen(AnyData().responses(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.map(\.data) == [["a": [1, 2]]])
    #expect(end.error?.kind == .badResponse)
    #expect((end.error?.cause as? IncompleteResponse<JSONValue>)?.response.data == ["a": [1, 2]])
  }

  @Test func `an ending with something outstanding is no complete response`() async throws {
    let client = try IncrementalServer.client(sending: [
      #"{"data":{"a":1},"pending":[{"id":"0","path":[]}],"hasNext":true}"#,
      #"{"incremental":[{"id":"0","data":{"b":1}}],"hasNext":false}"#,
    ])
    let seen = Seen(AnyData().responses(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.error?.message.contains("it ends although '0' has not arrived") == true)
    #expect(end.elements.allSatisfy { !$0.isComplete })
  }

  @Test(arguments: [.ids, .paths, .flat] as [IncrementalForm])
  func `G10: a response may come as server-sent events, as from Yoga, in any form and split anywhere`(
    form: IncrementalForm
  ) async throws {
    // An event for each payload, of which the form of 2020 has two in a text.
    let payloads = try #require(Self.payloads[form]).flatMap {
      $0.replacingOccurrences(of: "\r\n--graphql\r\n\r\n", with: "\n").split(separator: "\n")
    }
    let body = Data(
      (":\n\n" + payloads.map { "event: next\ndata: \($0)\n\n:\n\n" }.joined() + "event: complete\ndata\n\n").utf8)
    let head = HTTPResponseHead(status: 200, headers: ["Content-Type": "text/event-stream"])
    for size in [1, 2, 3, 50, body.count] {
      let pieces = stride(from: 0, to: body.count, by: size).map { body[$0..<min($0 + size, body.count)] }
      let client = try IncrementalServer.client(
        IncrementalServer(parts: [.head(head)] + pieces.map { .body(Data($0)) }))
      let responses = try await GetFriends().responses(on: client).values.reduce(into: []) { $0.append($1) }
      #expect(responses.last?.data == Self.growth[3])
      #expect(responses.last?.isComplete == true)
      if size == 1, form == .ids { #expect(responses.map(\.data) == Self.growth) }
      #expect(try await GetFriends().data(on: client).value == Self.growth[3])
    }
    // The end of the stream before the last payload is a cut, with and without an event that says so.
    for end in ["", "event: complete\n\n"] {
      let cut = Data("event: next\ndata: \(payloads[0])\n\n\(end)".utf8)
      let client = try IncrementalServer.client(IncrementalServer(parts: [.head(head), .body(cut)]))
      let seen = Seen(GetFriends().responses(on: client))
      let end = try await seen.state.wait { $0.isEnded }
      #expect(end.elements.map(\.data) == [Self.growth[0]])
      #expect(end.error?.kind == .connectionLost)
      #expect(end.error?.cause is IncompleteResponse<GetFriends.ResponseData>)
    }
  }

  @Test func `fragments with a sub-path, a heartbeat and a part at the top of the data are merged`() async throws {
    let client = try IncrementalServer.client(sending: [
      #"{"data":{"a":{"b":[{"c":1}]}},"pending":[{"id":"0","path":["a"]},{"id":"1","path":[]}],"hasNext":true,"extensions":{"x":1}}"#,
      "{}",
      #"{"incremental":[{"id":"0","subPath":["b",0],"data":{"d":2}},{"id":"1","data":{"e":3}}],"completed":[{"id":"0"},{"id":"1"}],"hasNext":false,"extensions":{"y":2}}"#,
    ])
    let response = try await AnyData().post(on: client).value
    #expect(response.data == ["a": ["b": [["c": 1, "d": 2]]], "e": 3])
    #expect(response.extensions == ["x": 1, "y": 2])
  }

  @Test func `the extensions of parts are merged, of which the last of one name counts`() async throws {
    let client = try IncrementalServer.client(sending: [
      #"{"data":{"a":{}},"hasNext":true,"extensions":{"x":1,"y":1,"z":1}}"#,
      #"{"incremental":[{"path":["a"],"data":{"b":1},"extensions":{"y":2,"z":2}}],"hasNext":true}"#,
      #"{"path":["a"],"data":{"c":1},"hasNext":true,"extensions":{"z":3}}"#, #"{"hasNext":false}"#,
    ])
    let response = try await AnyData().post(on: client).value
    #expect(response.data == ["a": ["b": 1, "c": 1]])
    #expect(response.extensions == ["x": 1, "y": 2, "z": 3])
  }

  @Test func `all parts together are limited as a response is`() async throws {
    var client = try IncrementalServer.client(sending: try #require(Self.payloads[.ids]))
    client.responseBodyLimit = 300
    let seen = Seen(GetFriends().responses(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.count == 1)
    #expect(end.error?.kind == .tooLarge)
  }

  @Test func `a label that is the name of a field is refused before anything is sent`() async throws {
    struct Clash: GraphQLSession {
      typealias ResponseData = JSONValue
      static let query: GraphQLDocument = #"query clash { user { name ... @defer(label: "name") { age } } }"#
    }
    let transport = ScriptedTransport()
    let client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: transport)
    await #expect { try await Clash().post(on: client).value } throws: {
      ($0 as? RequestError)?.message.contains("The label 'name'") == true
    }
    #expect(transport.requests.isEmpty)
  }
}
