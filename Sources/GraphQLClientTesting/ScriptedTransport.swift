public import GraphQLClient
public import HTTPClientCore
public import Streams
public import SystemBase

/// A transport that responds by a script and records its requests, for tests of anything that uses a transport or
/// subscribes.
///
///     let transport = ScriptedTransport()
///     transport.expect(.operation("getUser"), .json(#"{"data": {"user": {"name": "Wei"}}}"#))
///     let client = try APIClient(baseURL: url, transport: transport)
///     …
///     #expect(transport.failures.isEmpty)
///
/// Subscriptions have a script of their own:
///
///     client.graphQL.live = transport
///     transport.expectLive(.operation("priceChanged"), [.connected, .json(price), .wait(.seconds(5)), .reconnected])
///
/// It imports no test framework: ``failures`` lists everything that was not as expected.
public final class ScriptedTransport: HTTPTransport {
  private let script = Locked(Script<ScriptedResponse>())
  private let live = Locked(Script<[ScriptedLiveStep]>())
  private let scheduler: any Scheduler
  private let keepsTimeouts: Bool

  /// Makes a transport without a script. Takes the scheduler that times delayed responses, and the request's `timeouts`
  /// while it waits: a response that comes too late, or never, fails with `timedOut`, unless `keepsTimeouts` is false, as
  /// for a test of a middleware that has deadlines of its own.
  public init(scheduler: some Scheduler = ConcurrentScheduler(), keepsTimeouts: Bool = true) {
    self.scheduler = scheduler
    self.keepsTimeouts = keepsTimeouts
  }

  /// Expects one request. If several expectations match a request, the first that has not been met is used.
  public func expect(_ requests: RequestMatcher = .any, _ response: ScriptedResponse) {
    script.withLock { $0.expect(requests, response) }
  }

  /// Responds to each request that no expectation matches. If several calls match, the last one is used.
  public func always(_ requests: RequestMatcher = .any, _ response: ScriptedResponse) {
    script.withLock { $0.always(requests, response) }
  }

  /// Expects one subscription, and plays its events; see ``expect(_:_:)``. Unless the last step ends it, the
  /// subscription stays.
  public func expectLive(_ operations: RequestMatcher = .any, _ steps: [ScriptedLiveStep]) {
    live.withLock { $0.expect(operations, steps) }
  }

  /// Plays the events of each subscription that no expectation matches. If several calls match, the last one is used.
  public func alwaysLive(_ operations: RequestMatcher = .any, _ steps: [ScriptedLiveStep]) {
    live.withLock { $0.always(operations, steps) }
  }

  /// The requests so far, in order.
  public var requests: [HTTPRequest] { script.withLock { $0.requests } }

  /// The subscriptions so far, in order, as the requests of their `LiveOperation`.
  public var subscriptions: [HTTPRequest] { live.withLock { $0.requests } }

  /// How many exchanges were disposed before their end.
  public var cancellations: Int { script.withLock { $0.cancellations } }

  /// How many subscriptions were disposed before their end.
  public var liveCancellations: Int { live.withLock { $0.cancellations } }

  /// What was not as expected: requests that are not in the script, expectations that no request met, and GraphQL
  /// requests that a server would refuse without a look at its schema: for an undeclared or missing variable, a
  /// fragment that is not in the document or not used, or for what is not GraphQL.
  public var failures: [String] {
    script.withLock { $0 }.failures + live.withLock { $0 }.failures
  }

  /// A cold stream of the scripted response; see `HTTPTransport.send(_:)`. It calls back on the subscriber's thread;
  /// after a delay, on the scheduler's.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.deferred { [self] in
      try request.checkFraming()
      return play(
        try script.response(to: request).get().steps, of: script, keepingTimeoutsOf: keepsTimeouts ? request : nil)
    }
  }

  private func play<Element: Sendable, Response: Sendable>(
    _ steps: [ScriptStep<Element>], of script: Locked<Script<Response>>,
    keepingTimeoutsOf request: HTTPRequest? = nil
  ) -> Observable<Element> {
    let run = ScriptRun(steps, keepingTimeoutsOf: request, scheduler: scheduler)
    return run.elements.do(onDispose: {
      if run.stop() { script.withLock { $0.cancellations += 1 } }
    })
  }
}

extension ScriptedTransport: LiveTransport {
  /// A cold stream of the scripted events; see `LiveTransport.open(_:on:)`. It calls back on the subscriber's thread;
  /// after a wait, on the scheduler's. Nothing is kept for a slow observer, who is waited for.
  public func open(_ operation: LiveOperation, on client: APIClient) -> Observable<LiveEvent<Data>> {
    Observable<LiveEvent<Data>>.deferred { [self] in
      let steps = try live.response(to: operation.request).get()
      let isEnded = steps.contains { $0.isEnd }
      return play(steps.compactMap(\.step) + (isEnded ? [] : [.hang]), of: live)
    }
  }
}

extension Locked {
  /// What a script has for a request, which is recorded.
  fileprivate func response<Response: Sendable>(to request: HTTPRequest) -> Result<Response, RequestError>
  where Value == Script<Response> {
    withLock { $0.requests.append(request) }
    while true {
      let (expectations, rules) = withLock { ($0.expectations, $0.rules) }
      // Outside the lock: a matcher may use this transport.
      guard let expectation = expectations.first(where: { $0.matcher.matches(request) }) else {
        let rule = rules.first { $0.matcher.matches(request) }
        return rule.map { .success($0.response) } ?? .failure(withLock { $0.refuse(request) })
      }
      if withLock({ $0.meet(expectation) }) { return .success(expectation.response) }
    }
  }
}

/// A step of a scripted subscription.
public struct ScriptedLiveStep: Sendable {
  /// What it does; `nil` for the end.
  let step: ScriptStep<LiveEvent<Data>>?

  /// Whether no further step counts.
  let isEnd: Bool

  private init(_ step: ScriptStep<LiveEvent<Data>>?, isEnd: Bool = false) {
    self.step = step
    self.isEnd = isEnd
  }

  /// Sends an event of the connection.
  public static func event(_ event: LiveEvent<Data>) -> ScriptedLiveStep { ScriptedLiveStep(.send(event)) }

  /// Says that the subscription has begun.
  public static let connected = event(.connected)

  /// Says that there is a connection again, and that something may have been missed.
  public static let reconnected = event(.reconnected)

  /// Says that the connection was lost, and will be made again.
  public static func disconnected(
    _ error: RequestError = RequestError(.connectionLost, "The script cuts the connection."),
    retryAfter: Duration = .seconds(1)
  ) -> ScriptedLiveStep {
    event(.disconnected(error, retryAfter: retryAfter))
  }

  /// Sends a result, such as `{"data": …}`.
  public static func json(_ text: String) -> ScriptedLiveStep { event(.value(Data(text.utf8))) }

  /// Waits.
  public static func wait(_ time: Duration) -> ScriptedLiveStep { ScriptedLiveStep(.wait(time)) }

  /// Ends the subscription, as the server does when there is nothing more to come.
  public static let completed = ScriptedLiveStep(nil, isEnd: true)

  /// Ends the subscription with an error.
  public static func failed(_ error: RequestError) -> ScriptedLiveStep { ScriptedLiveStep(.fail(error), isEnd: true) }
}
