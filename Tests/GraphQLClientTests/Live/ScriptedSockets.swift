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

/// WebSockets whose server is the test.
final class ScriptedSockets: WebSocketTransport, ShutdownNotifying {
  /// One connection, or the attempt to make one.
  final class Attempt: Sendable {
    struct State {
      var texts: [String] = []
      /// The payloads of the pings of WebSocket.
      var pingPayloads: [Data] = []
      var pings: Int { pingPayloads.count }
      var closeCode: UInt16?
      var isDisposed = false
    }

    let request: WebSocketRequest
    let state = Monitor(State())
    private let observer: AnyObserver<WebSocketEvent>
    /// Fails what is sent, once set.
    let sendError = Locked<RequestError?>(nil)

    init(_ request: WebSocketRequest, _ observer: AnyObserver<WebSocketEvent>) {
      self.request = request
      self.observer = observer
    }

    var isDisposed: Bool { state.value.isDisposed }
    var closeCode: UInt16? { state.value.closeCode }

    /// What the client has sent, as JSON, without the first message and pings.
    var messages: [JSONValue] {
      all.dropFirst().filter { $0["type"] != "ping" }
    }

    /// All that the client has sent.
    var all: [JSONValue] { state.value.texts.compactMap { try? JSONValue(json: $0) } }

    /// The ids of what the client has subscribed to here, in order.
    var ids: [String] {
      messages.filter { $0["type"] == "subscribe" || $0["type"] == "start" }.compactMap { $0["id"]?.stringValue }
    }

    /// Accepts the connection.
    func open() {
      observer.onNext(
        .opened(
          WebSocketConnection(subprotocol: request.subprotocols.first) {
            [state, sendError] command throws(RequestError) in
            if let error = sendError.withLock({ $0 }) { throw error }
            state.update { state in
              switch command {
              case .send(.text(let text)): state.texts.append(text)
              case .send(.binary): break
              case .ping(let payload): state.pingPayloads.append(payload)
              case .close(let closure): state.closeCode = state.closeCode ?? closure.code.rawValue
              }
            }
          }))
    }

    /// Accepts the connection, and acknowledges it.
    func acknowledge() {
      open()
      send(#"{"type":"connection_ack"}"#)
    }

    func send(_ text: String) { observer.onNext(.message(.text(text))) }

    func sendBinary() { observer.onNext(.message(.binary(Data([1])))) }

    /// Answers a ping, as the protocol has it.
    func pong() {
      if isLegacy { observer.onNext(.pong(state.value.pingPayloads.last ?? Data())) } else { send(#"{"type":"pong"}"#) }
    }

    /// Sends a pong that answers no ping.
    func strayPong() { observer.onNext(.pong(Data("stray".utf8))) }

    private var isLegacy: Bool { request.subprotocols == ["graphql-ws"] }

    /// Sends a result of an operation.
    func next(_ id: String, _ number: Int) {
      let type = isLegacy ? "data" : "next"
      send(#"{"id":"\#(id)","type":"\#(type)","payload":{"data":{"countdown":\#(number)}}}"#)
    }

    func complete(_ id: String) { send(#"{"id":"\#(id)","type":"complete"}"#) }

    func close(_ code: UInt16, _ reason: String = "") {
      observer.onNext(.closed(WebSocketClosure(code: WebSocketCloseCode(code), reason: reason)))
      observer.onCompleted()
    }

    func fail(_ error: RequestError) { observer.onError(error) }

    /// Refuses the upgrade.
    func refuse(status: Int, retryAfter: Duration? = nil) {
      var error = RequestError(.httpStatus, "The server refused the upgrade.", status: status)
      error.retryAfter = retryAfter
      fail(error)
    }
  }

  private let state = Locked<[Attempt]>([])

  var attempts: [Attempt] { state.withLock { $0 } }

  func connect(_ request: WebSocketRequest) -> Observable<WebSocketEvent> {
    .create { observer in
      let attempt = Attempt(request, observer)
      self.state.withLock { $0.append(attempt) }
      return Disposables.create { attempt.state.update { $0.isDisposed = true } }
    }
  }

  // MARK: - Shutting down

  typealias Handler = @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

  private let handlers = Locked<(last: Int, all: [Int: Handler])>((0, [:]))

  var handlerCount: Int { handlers.withLock { $0.all.count } }

  func onShutdown(_ body: @escaping Handler) -> any Disposable {
    let number = handlers.withLock { handlers in
      handlers.last += 1
      handlers.all[handlers.last] = body
      return handlers.last
    }
    return Disposables.create { [weak self] in
      let handler = self?.handlers.withLock { $0.all.removeValue(forKey: number) }
      withExtendedLifetime(handler) {}
    }
  }

  /// Begins a shutdown; the result says whether all who were notified are done.
  func shutDown() -> () -> Bool {
    let all = handlers.withLock { handlers in
      defer { handlers.all = [:] }
      return Array(handlers.all.values)
    }
    let done = Locked(0)
    for handler in all { handler { done.withLock { $0 += 1 } } }
    return { done.withLock { $0 } == all.count }
  }
}

/// Subscriptions on scripted sockets, in virtual time.
struct SocketHarness {
  let scheduler = TestScheduler()
  let sockets = ScriptedSockets()
  var client: APIClient

  /// Pauses are as long as they may be, unless jitter is given.
  init(
    legacy: Bool = false, attempts: Int? = 20, tokens: (any TokenProvider)? = nil,
    random: @escaping @Sendable () -> Double = { 0 },
    prepare: @escaping @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void = { _ in }
  ) throws {
    var settings = LiveSettings()
    settings.attempts = attempts
    settings.pauses = Backoff(initial: .seconds(1), maximum: .seconds(60), random: random)
    var middlewares: [any HTTPMiddleware] = []
    if let tokens { middlewares.append(AuthMiddleware(tokens, challenge: .graphQL, scheduler: scheduler)) }
    client = try APIClient(
      baseURL: url("http://127.0.0.1/graphql"), transport: ScriptedTransport(), middlewares: middlewares)
    client.graphQL.live =
      legacy
      ? .legacyWebSocket(over: sockets, settings: settings, scheduler: scheduler, prepare: prepare)
      : .webSocket(over: sockets, settings: settings, scheduler: scheduler, prepare: prepare)
  }

  var last: ScriptedSockets.Attempt {
    get throws { try #require(sockets.attempts.last) }
  }

  /// Subscribes, and lets what is due happen.
  func subscribe(_ subscription: Countdown = Countdown(3)) -> Seen<LiveEvent<Int>> {
    let seen = Seen(subscription.subscribe(on: client).map { event in event.map(\.data.countdown) })
    settle()
    return seen
  }

  /// Subscribes on a connection that is ready.
  func connected() throws -> (Seen<LiveEvent<Int>>, ScriptedSockets.Attempt) {
    let seen = subscribe()
    let attempt = try last
    attempt.acknowledge()
    attempt.pong()
    settle()
    return (seen, attempt)
  }

  func settle() { scheduler.advance(by: .zero) }

  /// Moves the clock, and lets what is due happen.
  func advance(_ seconds: Double) { scheduler.advance(by: .milliseconds(Int(seconds * 1000))) }

  /// Moves the clock to the next attempt, or on by two minutes.
  func advanceToNextAttempt() {
    let count = sockets.attempts.count
    for _ in 0..<1200 where sockets.attempts.count == count { advance(0.1) }
  }
}
