import Foundation
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
  private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  /// Makes a transport without a script.
  ///
  /// Delays run by `schedule`, which calls the closure after the duration: a virtual clock in the place of the real
  /// one, say.
  public init(schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = realTime) {
    self.schedule = schedule
  }

  /// Expects one request; of several expectations that match one, the first that is not met yet counts.
  public func expect(_ requests: RequestMatcher = .any, _ answer: ScriptedAnswer) {
    script.withLock { $0.expect(requests, answer) }
  }

  /// Answers each request that no expectation is about; the last call that matches counts.
  public func always(_ requests: RequestMatcher = .any, _ answer: ScriptedAnswer) {
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

  /// Runs delays on a global queue, in real time.
  public static let realTime: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { delay, action in
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1), execute: action)
  }

  /// A cold stream of the scripted answer; see ``HTTPTransport/send(_:)``. It calls back on the subscriber's thread, and
  /// after a delay where the schedule runs.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.deferred { [self] in
      let run = ScriptRun(answer(to: request).steps, schedule: schedule)
      return run.parts.do(onDispose: { [script] in
        if run.stop() { script.withLock { $0.cancellations += 1 } }
      })
    }
  }

  private func answer(to request: HTTPRequest) -> ScriptedAnswer {
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
