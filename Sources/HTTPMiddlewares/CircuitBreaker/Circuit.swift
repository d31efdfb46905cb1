import HTTPClientCore

/// The circuit breaker of one origin: a pure state machine, without locks and clocks.
///
///                 too many failures                    time is over, next call
///     closed ─────────────────────────► open ─────────────────────────────────► half-open
///       ▲                                ▲                                        │  │
///       │                                └────────── the trial fails ─────────────┘  │
///       └─────────────────────────────────────────── the trial succeeds ─────────────┘
///
/// Each call has a pass, so that a call that ends in a later phase than it began in does not count. A trial that takes
/// long is joined by another one; the first of them to succeed or fail decides for all.
struct Circuit: Sendable {
  struct Pass: Hashable, Sendable {
    fileprivate let phase: Int
    /// The number of the trial; 0 while the circuit is closed.
    fileprivate let trial: Int
  }

  enum Outcome: Hashable, Sendable {
    case succeeded, failed
    /// It was cancelled, or failed for a reason that is not the server's.
    case abandoned
  }

  private enum Phase {
    case closed
    case open(until: Duration)
    /// If the last trial has not ended by then, or has been cancelled, another trial may begin.
    case halfOpen(trial: Int, nextTrial: Duration)
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
    case .open(let until), .halfOpen(_, let until): max(until - now, .zero)
    }
  }

  /// Returns a pass for a call that begins; `nil` if the call is refused.
  mutating func enter(at now: Duration) -> Pass? {
    switch phase {
    case .closed: return Pass(phase: number, trial: 0)
    case .open(let until):
      guard now >= until else { return nil }
      begin(.halfOpen(trial: 1, nextTrial: now + policy.openDuration))
      return Pass(phase: number, trial: 1)
    case .halfOpen(let last, let nextTrial):
      guard now >= nextTrial else { return nil }
      phase = .halfOpen(trial: last + 1, nextTrial: now + policy.openDuration)
      return Pass(phase: number, trial: last + 1)
    }
  }

  /// Records the end of a call.
  mutating func leave(_ pass: Pass, _ outcome: Outcome, at now: Duration) {
    guard pass.phase == number else { return }
    switch (phase, outcome) {
    case (.closed, .succeeded), (.closed, .failed):
      window.count(isFailure: outcome == .failed, at: now)
      // A success may complete the minimum of calls, but is no reason to stop.
      guard outcome == .failed else { return }
      let (calls, failures) = window.totals(at: now)
      if calls >= policy.minimumCalls, Double(failures) >= policy.failureRate * Double(calls) {
        begin(.open(until: now + policy.openDuration))
      }
    case (.halfOpen, .succeeded):
      window = CallWindow(policy.window)
      begin(.closed)
    case (.halfOpen, .failed): begin(.open(until: now + policy.openDuration))
    case (.halfOpen(pass.trial, _), .abandoned): phase = .halfOpen(trial: pass.trial, nextTrial: now)
    case (.closed, .abandoned), (.halfOpen, .abandoned), (.open, _): break
    }
  }

  private mutating func begin(_ phase: Phase) {
    self.phase = phase
    number += 1
  }
}

/// Counts the calls and failures of the recent past, in tenths of the window.
struct CallWindow: Sendable {
  private struct Part {
    var number: Int64 = -1
    var calls = 0
    var failures = 0
  }

  private let length: Duration
  private var parts = Array(repeating: Part(), count: 10)
  /// The tenth that was counted in last, and when it begins: most calls are in it, which then takes no division.
  private var last = (number: Int64(0), start: Duration.zero)

  init(_ window: Duration) {
    length = max(window, .milliseconds(10)) / 10
  }

  mutating func count(isFailure: Bool, at now: Duration) {
    if now < last.start || now >= last.start + length {
      let number = number(of: now)
      last = (number, length * number)
    }
    let number = last.number
    let index = Int(number % 10)
    if parts[index].number != number { parts[index] = Part(number: number) }
    parts[index].calls += 1
    if isFailure { parts[index].failures += 1 }
  }

  func totals(at now: Duration) -> (calls: Int, failures: Int) {
    let number = number(of: now)
    return parts.reduce((0, 0)) { total, part in
      number - 10 < part.number && part.number <= number ? (total.0 + part.calls, total.1 + part.failures) : total
    }
  }

  private func number(of time: Duration) -> Int64 { Int64(max(time, .zero) / length) }
}
