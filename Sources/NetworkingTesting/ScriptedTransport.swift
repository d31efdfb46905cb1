public import HTTP
public import Streams

/// A transport that answers by a script and keeps what it was asked, for tests of whatever stands on a transport.
///
///     let transport = ScriptedTransport()
///     transport.expect(.operation("getUser"), .json(#"{"data": {"user": {"name": "Wei"}}}"#))
///     let client = try APIClient(baseURL: url, transport: transport)
///     …
///     #expect(transport.failures.isEmpty)
///
/// It imports no test framework: ``failures`` tells what was not as expected.
public final class ScriptedTransport: HTTPTransport {
  private let script = Locked(Script())
  private let scheduler: any Scheduler

  /// Makes a transport without a script. Takes the scheduler that waits where an answer comes later.
  public init(scheduler: some Scheduler = ConcurrentScheduler()) {
    self.scheduler = scheduler
  }

  /// Expects one request; of several expectations that match one, the first that is not met yet counts.
  public func expect(_ requests: RequestMatcher = .any, _ answer: ScriptedResponse) {
    script.withLock { $0.expect(requests, answer) }
  }

  /// Answers each request that no expectation is about; the last call that matches counts.
  public func always(_ requests: RequestMatcher = .any, _ answer: ScriptedResponse) {
    script.withLock { $0.always(requests, answer) }
  }

  /// The requests so far, in order.
  public var requests: [HTTPRequest] { script.withLock { $0.requests } }

  /// How many exchanges were disposed before their end.
  public var cancellations: Int { script.withLock { $0.cancellations } }

  /// What was not as expected: requests without an answer, and expectations that no request met.
  public var failures: [String] {
    script.withLock { script in
      script.unexpected + script.expectations.map { "Not requested: \($0.matcher)" }
    }
  }

  /// A cold stream of the scripted answer; see ``HTTPTransport/send(_:)``. It calls back on the subscriber's thread, and
  /// after a delay where the scheduler runs.
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
      // Apart from the lock: a matcher may ask this transport.
      guard let expectation = expectations.first(where: { $0.matcher.matches(request) }) else {
        let rule = rules.first { $0.matcher.matches(request) }
        return rule?.answer ?? script.withLock { $0.refuse(request) }
      }
      if script.withLock({ $0.meet(expectation) }) { return expectation.answer }
    }
  }
}
