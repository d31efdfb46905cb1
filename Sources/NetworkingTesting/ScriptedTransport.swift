public import HTTP
public import Streams

/// A transport that responds by a script and records its requests, for tests of anything that uses a transport.
///
///     let transport = ScriptedTransport()
///     transport.expect(.operation("getUser"), .json(#"{"data": {"user": {"name": "Wei"}}}"#))
///     let client = try APIClient(baseURL: url, transport: transport)
///     …
///     #expect(transport.failures.isEmpty)
///
/// It imports no test framework: ``failures`` lists everything that was not as expected.
public final class ScriptedTransport: HTTPTransport {
  private let script = Locked(Script())
  private let scheduler: any Scheduler

  /// Makes a transport without a script. Takes the scheduler that times delayed responses.
  public init(scheduler: some Scheduler = ConcurrentScheduler()) {
    self.scheduler = scheduler
  }

  /// Expects one request. If several expectations match a request, the first that has not been met is used.
  public func expect(_ requests: RequestMatcher = .any, _ answer: ScriptedResponse) {
    script.withLock { $0.expect(requests, answer) }
  }

  /// Responds to each request that no expectation matches. If several calls match, the last one is used.
  public func always(_ requests: RequestMatcher = .any, _ answer: ScriptedResponse) {
    script.withLock { $0.always(requests, answer) }
  }

  /// The requests so far, in order.
  public var requests: [HTTPRequest] { script.withLock { $0.requests } }

  /// How many exchanges were disposed before their end.
  public var cancellations: Int { script.withLock { $0.cancellations } }

  /// What was not as expected: requests that are not in the script, expectations that no request met, and GraphQL
  /// requests that a server would refuse without a look at its schema: for an undeclared or missing variable, a
  /// fragment that is not in the document or not used, or for what is not GraphQL.
  public var failures: [String] {
    let script = script.withLock { $0 }
    var refused: [String] = []
    for problem in script.requests.flatMap(\.graphQLProblems) where !refused.contains(problem) {
      refused.append(problem)
    }
    return script.unexpected + script.expectations.map { "Not requested: \($0.matcher)" } + refused
  }

  /// A cold stream of the scripted response; see `HTTPTransport.send(_:)`. It calls back on the subscriber's thread;
  /// after a delay, on the scheduler's.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.deferred { [self] in
      try request.checkFraming()
      let run = ScriptRun(answer(to: request).steps, scheduler: scheduler)
      return run.parts.do(onDispose: { [script] in
        if run.stop() { script.withLock { $0.cancellations += 1 } }
      })
    }
  }

  private func answer(to request: HTTPRequest) -> ScriptedResponse {
    script.withLock { $0.requests.append(request) }
    while true {
      let (expectations, rules) = script.withLock { ($0.expectations, $0.rules) }
      // Outside the lock: a matcher may use this transport.
      guard let expectation = expectations.first(where: { $0.matcher.matches(request) }) else {
        let rule = rules.first { $0.matcher.matches(request) }
        return rule?.answer ?? script.withLock { $0.refuse(request) }
      }
      if script.withLock({ $0.meet(expectation) }) { return expectation.answer }
    }
  }
}
