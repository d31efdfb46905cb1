public import HTTPClientCore
public import Streams
import Synchronization
import SystemBase

/// Stops sending to an origin when too many requests fail, so that callers fail at once and the server can recover.
///
/// While the circuit is closed, failures are counted. When they reach the policy's rate it opens: requests fail with
/// `circuitOpen`, and are not sent. After a while it is half-open and lets a single request through, whose outcome
/// closes or opens it again; for as long as that takes, another one may follow after each `openDuration`, and the first
/// outcome counts. Failures are: no connection, a lost connection, a failed TLS handshake, an invalid response, a
/// deadline, and the statuses from 500 on. Other responses are successes: a response that is read as it arrives, such
/// as an event stream, with its head, any other when it is complete. Other errors do not count, nor does a shortage of
/// this process (`RequestError.isShortage`), nor a cancelled request, unless its time was over.
///
/// Place it inside a ``RetryMiddleware``, so that it sees each attempt. Copies share their circuits. It keeps at most
/// 1,024 origins; those that were not used for longest are forgotten, and begin again with a closed circuit.
public struct CircuitBreakerMiddleware: HTTPMiddleware {
  package final class Decider: Sendable {
    let scheduler: any Scheduler
    let circuits: OriginTable<WatchedCircuit>

    init(_ policy: CircuitBreakerPolicy, _ scheduler: any Scheduler) {
      self.scheduler = scheduler
      circuits = OriginTable { WatchedCircuit(policy) }
    }

    func circuit(of origin: HTTPOrigin) -> WatchedCircuit { circuits.withValue(of: origin) { $0 } }
  }

  package let decider: Decider

  /// Takes the policy, and the scheduler whose clock measures the time.
  public init(
    _ policy: CircuitBreakerPolicy = CircuitBreakerPolicy(), scheduler: some Scheduler = ConcurrentScheduler()
  ) {
    decider = Decider(policy, scheduler)
  }

  /// The state of an origin's circuit, beginning with the current one: a stream that never ends. It emits on the thread
  /// of the request that changed the state. An open circuit becomes half-open with the first request after its time.
  public func state(of origin: HTTPOrigin) -> Observable<CircuitState> {
    .deferred { decider.circuit(of: origin).states }
  }

  /// Passes the request on if the circuit of its origin allows it.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    deciding(on: request, next: next)
  }
}

extension CircuitBreakerMiddleware: DecidingMiddleware {}

extension CircuitBreakerMiddleware.Decider: RequestDecider {
  package func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) throws -> (any RequestPassage)? {
    let circuit = circuit(of: request.origin)
    let start = place.time(by: scheduler)
    guard let pass = circuit.change({ $0.enter(at: start) }) else {
      throw refusal(of: request, for: circuit.change { $0.refusal(at: start) })
    }
    return CircuitCall(circuit, pass, of: request, start: start, by: self)
  }

  private func refusal(of request: HTTPRequest, for time: Duration) -> RequestError {
    let (whole, rest) = time.components
    let seconds = rest > 0 ? whole.addingReportingOverflow(1).partialValue : whole
    return RequestError(
      .circuitOpen, "Too many requests to '\(request.origin)' failed: nothing is sent there for the next \(seconds) s.",
      operationName: request.operationName)
  }
}

/// When a circuit breaker opens, and for how long.
public struct CircuitBreakerPolicy: Hashable, Sendable {
  /// The share of failed calls, from 0 to 1, at which the circuit opens; a half by default.
  public var failureRate: Double

  /// How many calls there must be in the window before the circuit can open; 20 by default.
  public var minimumCalls: Int

  /// How far back calls count, in steps of a tenth of it; 10 seconds by default.
  public var window: Duration

  /// How long the circuit refuses all calls before it tries one; 5 seconds by default.
  public var openDuration: Duration

  /// Makes a policy; what is not given keeps its default.
  public init(
    failureRate: Double = 0.5, minimumCalls: Int = 20, window: Duration = .seconds(10),
    openDuration: Duration = .seconds(5)
  ) {
    self.failureRate = failureRate
    self.minimumCalls = minimumCalls
    self.window = window
    self.openDuration = openDuration
  }
}

/// The state of a circuit breaker: what it does with requests.
public enum CircuitState: Hashable, Sendable {
  /// Lets requests through, and counts failures.
  case closed
  /// Refuses requests, because too many have failed.
  case open
  /// Lets one request through, whose outcome decides.
  case halfOpen
}

/// A circuit behind a lock. Its states can be observed: they are emitted in order, and never under the lock.
final class WatchedCircuit: Sendable {
  private struct State {
    var circuit: Circuit
    var unpublished: [CircuitState] = []
    var isPublishing = false
  }

  private let state: Locked<State>
  private let subject = BehaviorSubject(value: CircuitState.closed)

  init(_ policy: CircuitBreakerPolicy) {
    state = Locked(State(circuit: Circuit(policy)))
  }

  var states: Observable<CircuitState> { subject.asObservable() }

  /// Calls a closure with the circuit under the lock, then emits the states that have resulted.
  func change<Result: Sendable>(_ body: (inout Circuit) -> Result) -> Result {
    let (result, publishes) = state.withLock { state in
      let before = state.circuit.state
      let result = body(&state.circuit)
      if state.circuit.state != before { state.unpublished.append(state.circuit.state) }
      let publishes = !state.unpublished.isEmpty && !state.isPublishing
      if publishes { state.isPublishing = true }
      return (result, publishes)
    }
    while publishes, let next = nextUnpublished() { subject.onNext(next) }
    return result
  }

  private func nextUnpublished() -> CircuitState? {
    state.withLock { state in
      guard !state.unpublished.isEmpty else {
        state.isPublishing = false
        return nil
      }
      return state.unpublished.removeFirst()
    }
  }
}

/// One request on its way through a circuit: its first end counts.
private final class CircuitCall: RequestPassage {
  private let circuit: WatchedCircuit
  private let pass: Circuit.Pass
  private let reading: HTTPRequest.Reading
  private let total: Duration?
  private let start: Duration
  private let decider: CircuitBreakerMiddleware.Decider
  private let isOver = Atomic(false)
  /// Whether the status of the response means a failure.
  private let hasFailed = Atomic(false)

  /// Takes the request, and when it began by the scheduler's clock.
  init(
    _ circuit: WatchedCircuit, _ pass: Circuit.Pass, of request: HTTPRequest, start: Duration,
    by decider: CircuitBreakerMiddleware.Decider
  ) {
    self.circuit = circuit
    self.pass = pass
    reading = request.reading
    total = request.timeouts.total
    self.start = start
    self.decider = decider
  }

  func depart() -> Departure { .unchanged }

  func receive(_ head: HTTPResponseHead) -> Int? {
    if head.status >= 500 {
      hasFailed.store(true, ordering: .relaxed)
    } else if head.isEndless || reading.mayOutlastTotal(head) {
      end(.succeeded)
    }
    return nil
  }

  func decide(on error: any Error) -> Decision {
    end(RequestError(wrapping: error).isServersFailure ? .failed : .abandoned)
    return .pass
  }

  func complete() { end(.succeeded) }

  func leave() {
    if isOver.load(ordering: .relaxed) { return }
    // It may have been a deadline that disposed it; timers can be a few milliseconds apart.
    let isTimeOver = total.map { decider.scheduler.now - start >= $0 - .milliseconds(10) } ?? false
    end(isTimeOver ? .failed : .abandoned)
  }

  private func end(_ outcome: Circuit.Outcome) {
    guard !isOver.exchange(true, ordering: .relaxed) else { return }
    let outcome = hasFailed.load(ordering: .relaxed) ? .failed : outcome
    circuit.change { $0.leave(pass, outcome, at: decider.scheduler.now) }
  }
}

extension RequestError {
  /// Whether the error means that something is wrong with the server or the way to it.
  fileprivate var isServersFailure: Bool {
    !isShortage && [.cannotConnect, .connectionLost, .timedOut, .insecure, .badResponse].contains(kind)
  }
}
