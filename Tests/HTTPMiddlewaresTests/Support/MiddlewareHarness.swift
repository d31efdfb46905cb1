import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StreamsTesting
import Synchronization
import Testing

/// Requests through middlewares to a scripted transport, in virtual time.
struct MiddlewareHarness {
  let scheduler: TestScheduler
  let transport: ScriptedTransport
  var middlewares: [any HTTPMiddleware] = []

  init(
    _ scheduler: TestScheduler = TestScheduler(),
    _ middlewares: (TestScheduler) -> [any HTTPMiddleware] = { _ in [] }
  ) {
    self.scheduler = scheduler
    transport = ScriptedTransport(scheduler: scheduler, keepsTimeouts: false)
    self.middlewares = middlewares(scheduler)
  }

  /// Begins a request.
  func start(_ request: HTTPRequest) -> Outcome {
    let outcome = Outcome()
    let subscription = transport.send(request, through: middlewares).collect(upTo: 1 << 24).subscribe(
      onNext: { response in outcome.events.withLock { $0.append(.success(response)) } },
      onError: { error in outcome.events.withLock { $0.append(.failure(RequestError(wrapping: error))) } })
    outcome.subscription.withLock { $0 = subscription }
    return outcome
  }

  /// Carries a request out, with all the time that it takes.
  func finish(_ request: HTTPRequest) throws -> Result<HTTPResponse, RequestError> {
    let outcome = start(request)
    scheduler.run()
    return try #require(outcome.result)
  }

  /// A GraphQL query, unless said otherwise.
  static func request(
    _ name: String = "q", isReplayable: Bool = true, timeouts: HTTPTimeouts = HTTPTimeouts(),
    to url: String = "http://127.0.0.1:1/graphql"
  ) throws -> HTTPRequest {
    try HTTPRequest(
      method: .post, url: #require(URL(string: url)), body: Data("{}".utf8), timeouts: timeouts, operationName: name,
      isReplayable: isReplayable)
  }
}

/// What came of one request.
final class Outcome: Sendable {
  let events = Mutex<[Result<HTTPResponse, RequestError>]>([])
  let subscription = Mutex<(any Disposable)?>(nil)

  /// The one result; `nil` while there is none.
  var result: Result<HTTPResponse, RequestError>? {
    events.withLock { $0.count == 1 ? $0.first : nil }
  }

  var status: Int? { try? result?.get().head.status }

  var error: RequestError? {
    if case .failure(let error) = result { error } else { nil }
  }

  func dispose() {
    subscription.withLock { $0 }?.dispose()
  }
}

extension ScriptedTransport {
  /// Expects one request, whichever it is.
  func expect(_ answer: ScriptedResponse) { expect(.any, answer) }

  /// Answers each request that no expectation is about.
  func always(_ answer: ScriptedResponse) { always(.any, answer) }
}
