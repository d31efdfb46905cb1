public import Streams

/// Stops sending to an origin when too many requests fail, so that callers fail at once and the server can recover.
///
/// While the circuit is closed, failures are counted. When they reach the policy's rate it opens: requests fail with
/// `circuitOpen`, and are not sent. After a while it is half-open and lets a single request through, whose outcome
/// closes or opens it again; for as long as that takes, another one may follow after each `openDuration`, and the first
/// outcome counts. Failures are: no connection, a lost connection, a failed TLS handshake, an invalid response, a
/// deadline, and the statuses from 500 on. Other responses are successes: a response that is read as it arrives, such
/// as an event stream, with its head, any other when it is complete. Other errors do not count, nor does a shortage of
/// this process (``RequestError/isShortage``), nor a cancelled request, unless its time was over.
///
/// Place it inside a ``RetryMiddleware``, so that it sees each attempt. Copies share their circuits. It keeps at most
/// 1,024 origins; those that were not used for longest are forgotten, and begin anew with a closed circuit.
public struct CircuitBreakerMiddleware: HTTPMiddleware {
  private let scheduler: any Scheduler
  private let circuits: OriginTable<WatchedCircuit>

  /// Takes the policy, and the scheduler whose clock measures the time.
  public init(
    _ policy: CircuitBreakerPolicy = CircuitBreakerPolicy(), scheduler: some Scheduler = ConcurrentScheduler()
  ) {
    self.scheduler = scheduler
    circuits = OriginTable { WatchedCircuit(policy) }
  }

  /// The state of an origin's circuit, beginning with the current one: a stream that never ends. It emits on the thread
  /// of the request that changed the state. An open circuit becomes half-open with the first request after its time.
  public func state(of origin: HTTPOrigin) -> Observable<CircuitState> {
    .deferred { circuit(of: origin).states }
  }

  /// Passes the request on if the circuit of its origin allows it.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      let circuit = circuit(of: request.origin)
      let start = scheduler.now
      guard let pass = circuit.change({ $0.enter(at: start) }) else {
        throw refusal(of: request, for: circuit.change { $0.refusal(at: start) })
      }
      let call = CircuitCall(circuit, pass, start: start, request, scheduler)
      return next(request).do(
        onNext: { call.note($0) }, onError: { call.end(after: $0) }, onCompleted: { call.end(.succeeded) },
        onDispose: { call.wasDisposed() })
    }
  }

  private func circuit(of origin: HTTPOrigin) -> WatchedCircuit {
    circuits.withValue(of: origin) { $0 }
  }

  private func refusal(of request: HTTPRequest, for time: Duration) -> RequestError {
    let (whole, rest) = time.components
    let seconds = rest > 0 ? whole.addingReportingOverflow(1).partialValue : whole
    return RequestError(
      .circuitOpen, "Too many requests to '\(request.origin)' failed: nothing is sent there for the next \(seconds) s.",
      operationName: request.operationName)
  }
}

extension RequestError.Kind {
  /// A circuit breaker is open; the request was not sent.
  public static let circuitOpen = RequestError.Kind("circuit open")
}
