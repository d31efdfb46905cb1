public import Streams

/// Stops sending to an origin where too much fails, so that callers fail at once and the server can recover.
///
/// Closed, it counts. When the failures reach the policy's rate it opens: requests fail with `circuitOpen`, unsent. After
/// a while it lets a single one through, half-open; by that one it closes or opens again. Failures are: no connection,
/// a lost one, a failed handshake, garbage, a deadline, and the statuses 500 to 599. Other answers are successes; what
/// was cancelled does not count, unless its time was over.
///
/// Stands below a ``RetryMiddleware``, so that it sees each attempt. Copies share their circuits. Of more than 1,024
/// origins those that were not used for longest are forgotten: their circuits begin anew, closed.
public struct CircuitBreakerMiddleware: HTTPMiddleware {
  private let scheduler: any Scheduler
  private let circuits: OriginTable<WatchedCircuit>

  /// Takes when to open and for how long, and the scheduler whose clock counts.
  public init(
    _ policy: CircuitBreakerPolicy = CircuitBreakerPolicy(), scheduler: some Scheduler = ConcurrentScheduler()
  ) {
    self.scheduler = scheduler
    circuits = OriginTable { WatchedCircuit(policy) }
  }

  /// The state of an origin's circuit, the present one first: a stream without an end, which speaks on the thread of the
  /// request that changed it. An open circuit turns half-open with the first request after its time.
  public func state(of origin: HTTPOrigin) -> Observable<CircuitState> {
    .deferred { circuit(of: origin).states }
  }

  /// Sends the request on, where its origin's circuit allows.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      let circuit = circuit(of: request.origin)
      let start = scheduler.now
      guard let pass = circuit.change({ $0.enter(at: start) }) else {
        throw refusal(of: request, for: circuit.change { $0.refusal(at: start) })
      }
      let call = Locked<(isOver: Bool, hasFailed: Bool)>((false, false))
      let end: @Sendable (Circuit.Outcome) -> Void = { outcome in
        let (isFirst, hasFailed) = call.withLock { call in
          defer { call.isOver = true }
          return (!call.isOver, call.hasFailed)
        }
        guard isFirst else { return }
        circuit.change { $0.leave(pass, hasFailed ? .failed : outcome, at: scheduler.now) }
      }
      return next(request).do(
        onNext: { part in
          if case .head(let head) = part, head.status >= 500, head.status < 600 {
            call.withLock { $0.hasFailed = true }
          }
        },
        onError: { end(RequestError(wrapping: $0).isServersFailure ? .failed : .abandoned) },
        onCompleted: { end(.succeeded) },
        onDispose: {
          // Whoever disposed it may have been a deadline; timers are a little apart.
          let isTimeOver = request.timeouts.total.map { scheduler.now - start >= $0 - .milliseconds(10) } ?? false
          end(isTimeOver ? .failed : .abandoned)
        })
    }
  }

  private func circuit(of origin: HTTPOrigin) -> WatchedCircuit {
    circuits.withValue(of: origin) { $0 }
  }

  private func refusal(of request: HTTPRequest, for time: Duration) -> RequestError {
    RequestError(
      .circuitOpen, "Too many requests to '\(request.origin)' failed: nothing is sent there for the next \(time).",
      operationName: request.operationName)
  }
}

extension RequestError {
  /// Whether the error shows that something is wrong with the server or the way to it.
  fileprivate var isServersFailure: Bool {
    [.cannotConnect, .connectionLost, .timedOut, .insecure, .badResponse].contains(kind)
  }
}

extension RequestError.Kind {
  /// A circuit breaker is open: nothing was sent.
  public static let circuitOpen = RequestError.Kind("circuit open")
}
