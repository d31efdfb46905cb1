import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// Subscriptions as responses of scripted servers, in virtual time.
@Suite struct StreamLiveTests {
  enum Format: String, CaseIterable {
    case eventStream, multipart

    var contentType: HTTPHeaders {
      self == .eventStream
        ? ["Content-Type": "text/event-stream; charset=utf-8"]
        : ["Content-Type": "multipart/mixed;boundary=\"graphql\";subscriptionSpec=1.0"]
    }

    /// A response with some results, and, if it is complete, the end. A result has the boundary in its text.
    func body(_ numbers: [Int], isComplete: Bool = true) -> String {
      let results = numbers.map { #"{"data":{"countdown":\#($0)},"extensions":{"a":"--graphql\n--graphql--"}}"# }
      switch self {
      case .eventStream:
        let events = results.map { "event: next\ndata: \($0)\n\n" }.joined(separator: ": ping\n\n")
        return ":\n\n" + events + (isComplete ? "event: complete\n\n" : "")
      case .multipart:
        let parts = (["{}"] + results.map { #"{"payload":\#($0)}"# }).map {
          "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n\($0)"
        }
        return parts.joined() + (isComplete ? "\r\n--graphql--\r\n" : "")
      }
    }

    func response(_ numbers: [Int], isComplete: Bool = true) -> ScriptedResponse {
      .response(headers: contentType, body: Data(body(numbers, isComplete: isComplete).utf8))
    }
  }

  /// A client of a scripted server.
  struct Harness {
    let scheduler = TestScheduler()
    let transport: ScriptedTransport
    var client: APIClient

    init(
      _ format: Format, attempts: Int? = 20, tokens: (any TokenProvider)? = nil, settings: LiveSettings = LiveSettings()
    ) throws {
      transport = ScriptedTransport(scheduler: scheduler)
      var settings = settings
      settings.attempts = attempts
      settings.pauses = Backoff(initial: .seconds(1), maximum: .seconds(60)) { 0 }
      var middlewares: [any HTTPMiddleware] = []
      if let tokens { middlewares.append(AuthMiddleware(tokens, challenge: .graphQL, scheduler: scheduler)) }
      client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: transport, middlewares: middlewares)
      client.graphQL.live =
        format == .eventStream
        ? .eventStream(settings, scheduler: scheduler) : .multipart(settings, scheduler: scheduler)
    }

    func subscribe(_ subscription: Countdown = Countdown(3)) -> Seen<LiveEvent<Int>> {
      Seen(subscription.subscribe(on: client).map { event in event.map { $0.data.countdown } })
    }

    /// Subscribes, and lets everything happen that is due within two minutes.
    func run(_ subscription: Countdown = Countdown(3)) -> Seen<LiveEvent<Int>> {
      let seen = subscribe(subscription)
      scheduler.advance(by: .seconds(120))
      return seen
    }
  }

  @Test(arguments: Format.allCases)
  func `the request is a POST of the operation, and asks for the format`(format: Format) throws {
    let harness = try Harness(format)
    harness.transport.expect(.operation("countdown"), format.response([1]))
    _ = harness.run()
    let request = try #require(harness.transport.requests.first)
    #expect(request.method == .post)
    #expect(request.headers["Content-Type"] == "application/json")
    let accept = request.headers["Accept"] ?? ""
    #expect(accept.hasPrefix(format == .eventStream ? "text/event-stream" : "multipart/mixed;boundary"))
    #expect(request.timeouts.idle == .seconds(45))
    #expect(request.mayOutlastTotal(HTTPResponseHead(status: 200)))
    #expect(harness.transport.failures.isEmpty)
  }

  @Test(arguments: Format.allCases, [1, 2, 3, 7, 50, 10_000])
  func `a response may be split anywhere`(format: Format, size: Int) throws {
    let harness = try Harness(format)
    harness.transport.expect(.any, format.response([3, 2, 1]).inPieces(of: size))
    let seen = harness.run()
    #expect(seen.elements == [.connected, .value(3), .value(2), .value(1)])
    #expect(seen.state.value.isCompleted)
    #expect(harness.transport.requests.count == 1)
  }

  @Test(arguments: Format.allCases, [true, false])
  func `L2: a response that is cut at any byte gives a part of its results, then the gap, then the next response's`(
    format: Format, isAbrupt: Bool
  ) throws {
    let body = Data(format.body([3, 2, 1]).utf8)
    let whole: [LiveEvent<Int>] = [.connected, .value(3), .value(2), .value(1)]
    for length in 0..<body.count {
      let harness = try Harness(format)
      let cut = ScriptedResponse.response(headers: format.contentType, body: body.prefix(length))
      let lost = RequestError(.connectionLost, "Cut.")
      harness.transport.expect(.any, isAbrupt ? cut.thenFailing(lost) : cut)
      harness.transport.always(.any, format.response([9]))
      let seen = harness.run()
      let events = seen.elements
      #expect(seen.state.value.isCompleted, "cut at \(length)")
      guard let gap = events.firstIndex(where: { if case .disconnected = $0 { true } else { false } }) else {
        // What was cut off is after the end.
        #expect(events == whole, "cut at \(length)")
        continue
      }
      #expect(Array(events[..<gap]) == Array(whole[..<gap]), "cut at \(length)")
      #expect(Array(events[(gap + 1)...]) == [.reconnected, .value(9)], "cut at \(length)")
    }
  }

  @Test(
    arguments: Format.allCases,
    [
      (408, 2), (425, 2), (429, 2), (500, 2), (503, 2), (401, 2), (403, 2), (400, 1), (404, 1), (406, 1), (501, 1),
      (204, 1), (301, 1),
    ])
  func `L6: statuses are tried again, tried again with a new token, or final`(
    format: Format, row: (status: Int, requests: Int)
  ) throws {
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in .just(AccessToken("new")) }
    let harness = try Harness(format, tokens: provider)
    harness.transport.expect(.any, .response(status: row.status))
    harness.transport.always(.any, format.response([1]))
    let seen = harness.run()
    #expect(harness.transport.requests.count == row.requests)
    let end = seen.state.value
    #expect(end.isCompleted == (row.requests == 2))
    if row.requests == 1 { #expect(end.error?.status == row.status) }
    let renews = row.status == 401 || row.status == 403
    #expect(harness.transport.requests.last?.headers["Authorization"] == (renews ? "Bearer new" : "Bearer old"))
  }

  @Test(arguments: [401, 403])
  func `L6: a status that comes again after a refresh is final`(status: Int) throws {
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in .just(AccessToken("new")) }
    let harness = try Harness(.eventStream, tokens: provider)
    harness.transport.always(.any, .response(status: status))
    let seen = harness.run()
    #expect(harness.transport.requests.count == 2)
    #expect(seen.state.value.error?.status == status)
  }

  @Test(arguments: Format.allCases, ["UNAUTHENTICATED", "SUBSCRIPTION_JWT_EXPIRED"])
  func `L6: a token that a stream says has expired is not used again, in whatever format it says so`(
    format: Format, code: String
  ) throws {
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in .just(AccessToken("new")) }
    let harness = try Harness(format, tokens: provider)
    let errors = #""errors":[{"message":"m","extensions":{"code":"\#(code)"}}]"#
    let last =
      format == .eventStream
      ? "event: next\ndata: {\"data\":null,\(errors)}\n\n"
      : "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n{\"payload\":null,\(errors)}\r\n--graphql--\r\n"
    harness.transport.expect(
      .any,
      .response(headers: format.contentType, body: Data((format.body([3], isComplete: false) + last).utf8)))
    harness.transport.always(.any, format.response([2]))
    let seen = harness.run()
    #expect(harness.transport.requests.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
    #expect(seen.elements.compactMap(\.value) == [3, 2])
    #expect(seen.state.value.isCompleted)
  }

  @Test func `L6: a token that a challenge has brought is not used again once a stream says that it has expired`()
    throws
  {
    let count = Locked(0)
    let provider = InMemoryTokenProvider { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return .just(AccessToken("t\(number)"))
    }
    let harness = try Harness(.eventStream, tokens: provider)
    harness.transport.expect(.any, .response(status: 401))
    let rejection = #"{"errors":[{"message":"m","extensions":{"code":"UNAUTHENTICATED"}}]}"#
    let stream = Format.eventStream.body([3], isComplete: false) + "event: next\ndata: \(rejection)\n\n"
    harness.transport.expect(.any, .response(headers: Format.eventStream.contentType, body: Data(stream.utf8)))
    harness.transport.always(.any, Format.eventStream.response([2]))
    let seen = harness.run()
    #expect(harness.transport.requests.map { $0.headers["Authorization"] } == [nil, "Bearer t1", "Bearer t2"])
    #expect(seen.elements.suffix(2) == [.reconnected, .value(2)])
    #expect(seen.state.value.isCompleted)
  }

  @Test(arguments: Format.allCases)
  func `L7: a mutation that has brought a result is not sent again with a new token`(format: Format) throws {
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in .just(AccessToken("new")) }
    let harness = try Harness(format, tokens: provider)
    let errors = #""errors":[{"message":"m","extensions":{"code":"UNAUTHENTICATED"}}]"#
    let last =
      format == .eventStream
      ? "event: next\ndata: {\"data\":null,\(errors)}\n\n"
      : "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n{\"payload\":null,\(errors)}\r\n--graphql--\r\n"
    harness.transport.always(
      .any,
      .response(headers: format.contentType, body: Data((format.body([3], isComplete: false) + last).utf8)))
    let request = try HTTPRequest(
      method: .post, url: harness.client.baseURL, body: Data(#"{"query":"mutation { a }"}"#.utf8), isReplayable: false)
    let seen = Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client))
    harness.scheduler.advance(by: .seconds(120))
    #expect(harness.transport.requests.count == 1)
    #expect(seen.state.value.error?.reached == .maybe)
  }

  @Test(arguments: Format.allCases)
  func `L6: Retry-After is obeyed`(format: Format) throws {
    let harness = try Harness(format)
    harness.transport.expect(.any, .response(status: 429, headers: ["Retry-After": "30"]))
    harness.transport.always(.any, format.response([1]))
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .seconds(30))
    #expect(harness.transport.requests.count == 1)
    harness.scheduler.advance(by: .seconds(1))
    #expect(harness.transport.requests.count == 2)
    #expect(seen.state.value.isCompleted)
  }

  @Test(arguments: Format.allCases)
  func `a response of another type is an error that names it, or the GraphQL errors in it`(format: Format) throws {
    for (type, body, kind) in [
      ("text/html", "<p>", RequestError.Kind.badResponse), ("application/json", #"{"data":{}}"#, .badResponse),
      ("application/json", #"{"errors":[{"message":"No."}]}"#, .graphQL),
    ] {
      let harness = try Harness(format)
      let headers = HTTPHeaders([try HTTPField(name: "Content-Type", value: type)])
      harness.transport.always(.any, .response(headers: headers, body: Data(body.utf8)))
      let error = harness.run().state.value.error
      #expect(error?.kind == kind)
      #expect(harness.transport.requests.count == 1)
      if type == "text/html" { #expect(error?.message.contains("text/html") == true) }
    }
  }

  @Test func `an event stream that has ids is resumed after the last one, and its retry sets the pause`() throws {
    var settings = LiveSettings()
    settings.serverReplays = true
    let harness = try Harness(.eventStream, settings: settings)
    let headers = Format.eventStream.contentType
    let cut = "retry: 5000\nid: 17\nevent: next\ndata: {\"data\":{\"countdown\":3}}\n\n"
    harness.transport.expect(.any, .response(headers: headers, body: Data(cut.utf8)))
    harness.transport.always(.any, Format.eventStream.response([2]))
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .milliseconds(4999))
    #expect(harness.transport.requests.count == 1)
    harness.scheduler.advance(by: .milliseconds(1))
    #expect(harness.transport.requests.last?.headers["Last-Event-ID"] == "17")
    harness.scheduler.advance(by: .seconds(1))
    #expect(seen.elements.filter { $0.value != nil || $0 == .resumed } == [.value(3), .resumed, .value(2)])
  }

  @Test(arguments: [
    "id: 17\nid", "id: 17\nid:", "id: a\u{1}b", "id:  17", "id: " + String(repeating: "7", count: 2000),
  ])
  func `L2: a gap is reported after an id that cannot be sent back, or that the server has taken back`(id: String)
    throws
  {
    let harness = try Harness(.eventStream)
    let cut = "\(id)\nevent: next\ndata: {\"data\":{\"countdown\":3}}\n\n"
    harness.transport.expect(.any, .response(headers: Format.eventStream.contentType, body: Data(cut.utf8)))
    harness.transport.always(.any, Format.eventStream.response([2]))
    let seen = harness.run()
    #expect(harness.transport.requests.last?.headers["Last-Event-ID"] == nil)
    #expect(seen.elements.filter { $0.value != nil || $0 == .reconnected } == [.value(3), .reconnected, .value(2)])
    #expect(seen.state.value.isCompleted)
  }

  @Test func `L6: a server that sets the pause to 0 and goes away is asked less and less often`() throws {
    let harness = try Harness(.eventStream, attempts: nil)
    let headers = Format.eventStream.contentType
    harness.transport.always(.any, .response(headers: headers, body: Data("retry: 0\n\n".utf8)))
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .seconds(100))
    #expect(harness.transport.requests.count == 10)
    seen.dispose()
  }

  @Test func `a multipart response: what ends a subscription, and what does not`() throws {
    func body(_ parts: String...) -> Data {
      Data((parts.map { "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n\($0)" }.joined()).utf8)
    }
    let value = #"{"payload":{"data":{"countdown":3}}}"#
    func seen(_ first: Data, then second: ScriptedResponse = Format.multipart.response([9])) throws -> (
      Seen<LiveEvent<Int>>, Harness
    ) {
      let harness = try Harness(.multipart)
      harness.transport.expect(.any, .response(headers: Format.multipart.contentType, body: first))
      harness.transport.always(.any, second)
      return (harness.run(), harness)
    }
    // `payload: null` is the end, also before the last delimiter.
    let (ended, _) = try seen(body(value, #"{"payload":null}"#))
    #expect(ended.elements == [.connected, .value(3)])
    #expect(ended.state.value.isCompleted)
    // With errors, it is a failure.
    let (failed, once) = try seen(
      body(value, #"{"payload":null,"errors":[{"message":"no","extensions":{"code":"SUBSCRIPTION_EXECUTION_ERROR"}}]}"#)
    )
    #expect(failed.state.value.error?.graphQLErrors.first?.code == "SUBSCRIPTION_EXECUTION_ERROR")
    #expect(once.transport.requests.count == 1)
    // What a router cannot help is tried again.
    for code in [
      "SUBSCRIPTION_SCHEMA_RELOAD", "SUBSCRIPTION_CONFIG_RELOAD", "SUBSCRIPTION_MAX_LIMIT", "WEBSOCKET_CLOSE_ERROR",
      "SUBSCRIPTION_JWT_EXPIRED",
    ] {
      let (again, harness) = try seen(
        body("{}", value, #"{"payload":null,"errors":[{"message":"m","extensions":{"code":"\#(code)"}}]}"#))
      #expect(harness.transport.requests.count == 2)
      #expect(again.state.value.isCompleted)
      #expect(again.elements.suffix(2) == [.reconnected, .value(9)])
    }
    // The last delimiter alone is the end, too.
    let (delimited, _) = try seen(body(value) + Data("\r\n--graphql--".utf8))
    #expect(delimited.state.value.isCompleted)
    #expect(delimited.elements == [.connected, .value(3)])
  }

  @Test func `streams go through the client's middlewares, except those that send again or wait in line`() throws {
    struct Fails: HTTPMiddleware {
      func intercept(
        _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
      ) -> Observable<HTTPResponsePart> {
        var request = request
        do { try request.headers.set("X-Seen", to: "yes") } catch { return .error(error) }
        return next(request)
      }
    }
    var harness = try Harness(.eventStream)
    harness.client.middlewares = [
      RetryMiddleware(scheduler: harness.scheduler), ConcurrencyLimitMiddleware(1, scheduler: harness.scheduler),
      Fails(),
    ]
    harness.transport.always(.any, ScriptedResponse.response(headers: Format.eventStream.contentType).then(.never))
    let all = (0..<3).map { _ in harness.subscribe() }
    harness.scheduler.advance(by: .seconds(1))
    #expect(harness.transport.requests.map { $0.headers["X-Seen"] } == ["yes", "yes", "yes"])
    #expect(all.map(\.elements) == [[.connected], [.connected], [.connected]])
  }

  @Test(arguments: Format.allCases)
  func `R3: a stream that a server's limit holds back says so at once, and is sent when the limit allows it`(
    format: Format
  ) throws {
    // What was not sent is no attempt.
    var harness = try Harness(format, attempts: 1)
    harness.client.middlewares = [RateLimitMiddleware(scheduler: harness.scheduler, random: { 0 })]
    harness.transport.expect(.any, .response(status: 429, headers: ["Retry-After": "55"]))
    harness.transport.always(.any, format.response([1]))
    let refused = try HTTPRequest(method: .post, url: harness.client.baseURL, isReplayable: false)
    let first = Seen(harness.transport.send(refused, through: harness.client.middlewares))
    harness.scheduler.advance(by: .zero)
    #expect(first.state.value.error?.kind == .rateLimited)
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .seconds(54))
    guard case .disconnected(let error, let pause) = seen.elements.first else {
      Issue.record("The stream said nothing.")
      return
    }
    #expect(error.kind == .rateLimited)
    #expect(pause == .seconds(56))
    #expect(seen.elements.count == 1)
    #expect(harness.transport.requests.count == 1)
    harness.scheduler.advance(by: .seconds(2))
    #expect(harness.transport.requests.count == 2)
    #expect(seen.elements.suffix(2) == [.connected, .value(1)])
  }

  @Test(arguments: Format.allCases)
  func `L5: disposing ends the request, and nothing comes any more`(format: Format) throws {
    let harness = try Harness(format)
    harness.transport.always(.any, format.response([1], isComplete: false).then(.never))
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .seconds(1))
    #expect(seen.elements.first == .connected)
    seen.dispose()
    harness.scheduler.advance(by: .zero)
    #expect(harness.transport.cancellations == 1)
    harness.scheduler.advance(by: .seconds(600))
    #expect(harness.transport.requests.count == 1)
    #expect(harness.scheduler.pendingCount == 0)
  }

  @Test(arguments: Format.allCases)
  func `L4: with suspend, the response is not read before the observer is done`(format: Format) throws {
    let harness = try Harness(format)
    harness.transport.always(.any, format.response([3, 2, 1]).inPieces(of: 10))
    var countdown = Countdown(3)
    countdown.buffering = .suspend
    #expect(harness.run(countdown).elements == [.connected, .value(3), .value(2), .value(1)])
  }

  @Test func `S3: an error does not show the token, even if the server says it`() throws {
    let provider = InMemoryTokenProvider(AccessToken(canary)) { _ in .never() }
    for body in [
      #"{"errors":[{"message":"\#(canary)"}]}"#, "event: next\ndata: {\"errors\":[{\"message\":\"\(canary)\"}]}\n\n",
    ] {
      let harness = try Harness(.eventStream, tokens: provider)
      let type: HTTPHeaders =
        body.hasPrefix("{") ? ["Content-Type": "application/json"] : Format.eventStream.contentType
      harness.transport.always(.any, .response(headers: type, body: Data(body.utf8)))
      let error = try #require(harness.run().state.value.error)
      #expect(error.kind == .graphQL)
      #expect(!"\(error)".contains(canary))
      #expect(!"\(error.graphQLErrors)".contains(canary))
    }
  }
}
