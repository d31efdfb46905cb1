/// The circuit breaker of one origin: a pure state machine, without locks and clocks.
///
///                 too many failures                    time is over, next call
///     closed ─────────────────────────► open ─────────────────────────────────► half-open
///       ▲                                ▲                                        │  │
///       │                                └────────── the trial fails ─────────────┘  │
///       └─────────────────────────────────────────── the trial succeeds ─────────────┘
///
/// Each call has a pass, so that a call that ends in a later phase than it began in does not count.
struct Circuit: Sendable {
  struct Pass: Hashable, Sendable {
    fileprivate let phase: Int
  }

  enum Outcome: Hashable, Sendable {
    case succeeded, failed
    /// It was cancelled, or failed for a reason that is not the server's.
    case abandoned
  }

  private enum Phase {
    case closed
    case open(until: Duration)
    /// If the trial has not ended by then, or has been cancelled, another trial may begin.
    case halfOpen(nextTrial: Duration)
  }

  private let policy: CircuitBreakerPolicy
  private var phase = Phase.closed
  /// The calls since the circuit was closed.
  private var window: CallWindow
  /// The number of the phase.
  private var number = 0

  init(_ policy: CircuitBreakerPolicy) {
    self.policy = policy
    window = CallWindow(policy.window)
  }

  var state: CircuitState {
    switch phase {
    case .closed: .closed
    case .open: .open
    case .halfOpen: .halfOpen
    }
  }

  /// How long calls will be refused at least.
  func refusal(at now: Duration) -> Duration {
    switch phase {
    case .closed: .zero
    case .open(let until), .halfOpen(let until): max(until - now, .zero)
    }
  }

  /// Returns a pass for a call that begins; `nil` if the call is refused.
  mutating func enter(at now: Duration) -> Pass? {
    switch phase {
    case .closed: break
    case .open(let until):
      guard now >= until else { return nil }
      begin(.halfOpen(nextTrial: now + policy.openDuration))
    case .halfOpen(let nextTrial):
      guard now >= nextTrial else { return nil }
      begin(.halfOpen(nextTrial: now + policy.openDuration))
    }
    return Pass(phase: number)
  }

  /// Records the end of a call.
  mutating func leave(_ pass: Pass, _ outcome: Outcome, at now: Duration) {
    guard pass.phase == number else { return }
    switch (phase, outcome) {
    case (.closed, .succeeded), (.closed, .failed):
      window.count(isFailure: outcome == .failed, at: now)
      let (calls, failures) = window.totals(at: now)
      if calls >= policy.minimumCalls, failures > 0, Double(failures) >= policy.failureRate * Double(calls) {
        begin(.open(until: now + policy.openDuration))
      }
    case (.halfOpen, .succeeded):
      window = CallWindow(policy.window)
      begin(.closed)
    case (.halfOpen, .failed): begin(.open(until: now + policy.openDuration))
    case (.halfOpen, .abandoned): begin(.halfOpen(nextTrial: now))
    case (.closed, .abandoned), (.open, _): break
    }
  }

  private mutating func begin(_ phase: Phase) {
    self.phase = phase
    number += 1
  }
}
