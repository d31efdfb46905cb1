import Streams

/// One request on its way through a circuit: its first end counts.
final class CircuitCall: Sendable {
  private let circuit: WatchedCircuit
  private let pass: Circuit.Pass
  private let start: Duration
  private let request: HTTPRequest
  private let scheduler: any Scheduler
  private let state = Locked<(isOver: Bool, hasFailed: Bool)>((false, false))

  /// Takes the request, and when it began by the scheduler's clock.
  init(
    _ circuit: WatchedCircuit, _ pass: Circuit.Pass, start: Duration, _ request: HTTPRequest, _ scheduler: any Scheduler
  ) {
    self.circuit = circuit
    self.pass = pass
    self.start = start
    self.request = request
    self.scheduler = scheduler
  }

  func note(_ part: HTTPResponsePart) {
    guard case .head(let head) = part else { return }
    if head.status >= 500 {
      state.withLock { $0.hasFailed = true }
    } else if head.isEndless || request.mayOutlastTotal(head) {
      end(.succeeded)
    }
  }

  func end(after error: any Error) {
    end(RequestError(wrapping: error).isServersFailure ? .failed : .abandoned)
  }

  func wasDisposed() {
    // It may have been a deadline that disposed it; timers can be a few milliseconds apart.
    let isTimeOver = request.timeouts.total.map { scheduler.now - start >= $0 - .milliseconds(10) } ?? false
    end(isTimeOver ? .failed : .abandoned)
  }

  func end(_ outcome: Circuit.Outcome) {
    let (isFirst, hasFailed) = state.withLock { state in
      defer { state.isOver = true }
      return (!state.isOver, state.hasFailed)
    }
    guard isFirst else { return }
    circuit.change { $0.leave(pass, hasFailed ? .failed : outcome, at: scheduler.now) }
  }
}

extension RequestError {
  /// Whether the error means that something is wrong with the server or the way to it.
  fileprivate var isServersFailure: Bool {
    !isShortage && [.cannotConnect, .connectionLost, .timedOut, .insecure, .badResponse].contains(kind)
  }
}
