import HTTPClientCore
import Streams

/// What a way to carry operations can do, by which its connections are supervised.
struct LiveTraits: Hashable, Sendable {
  /// Whether the server acknowledges the connection in a message of its own.
  var acknowledges = false
  /// Whether the protocol has pings.
  var pings = false
  /// Whether the server announces itself by messages that, once the first has come, must keep coming.
  var keepsAlive = false
  /// Whether a connection carries one operation, so that it ends with it.
  var isForOne = false
  /// Whether the server confirms each operation in a message of its own.
  var confirmsOperations = false
}

/// Decides when a connection is made, given up and made again: a pure state machine over inputs and time, the same for
/// all protocols.
///
///     idle ── needed ──► dialling ── opened ──► upgraded ── acknowledged ──► acknowledged ── stable ──► ready
///      ▲                   ▲  │                    │                              │                       │
///      │                   │  └────────────────────┴─── lost, late or silent ─────┴───────────────────────┤
///      │                   └── pause over ─── waiting ◄────────────────────────────────── may be tried ───┤
///      ├──────────────────────────────────────────────────────────── fatal, or one too many: ended ────────┤
///      └── closed ── closing ◄────────────────────────────────────────────────────── no longer needed ─────┘
///
/// Each attempt has a number, its generation. What an earlier one still sends is ignored. A pause lasts even if no
/// operation waits for its end, so that subscribing again and again does not shorten it.
struct LiveSupervisor: Sendable {
  enum State: Hashable, Sendable {
    case idle, dialling, upgraded, acknowledged, ready, closing, waiting
  }

  enum Action {
    /// Make a connection, with a new token if the last one was rejected.
    case dial(refreshingToken: Bool)
    /// Operations can be sent.
    case start
    case ping
    /// Begin to close, and wait for the end.
    case close
    /// Close the connection, and ignore what still comes of it.
    case drop(code: UInt16)
    /// The connection is lost, and another follows.
    case retry(RequestError, after: Duration)
    /// No further attempt is made: the operations fail.
    case fail(RequestError)
  }

  private(set) var state = State.idle
  private(set) var generation = 0
  /// When the state ends by itself.
  private var deadline: Duration?
  private var heardAt = Duration.zero
  private var pongDue: Duration?
  private var hasKeepAlive = false
  /// How long the server says that it will not be silent.
  private var longestSilence: Duration?
  private var unneededSince: Duration?
  private var isNeeded = false
  private var failures = 0
  /// Whether the last attempt ended because its token was rejected, and nothing has shown since that a token is accepted.
  private(set) var hasRefreshed = false
  /// Whether the last token was rejected, and there is no new one yet.
  private var mustRefresh = false
  private var backoff: Backoff
  private let settings: LiveSettings
  private let traits: LiveTraits

  init(_ settings: LiveSettings, _ traits: LiveTraits) {
    self.settings = settings
    self.traits = traits
    backoff = settings.pauses
  }

  /// Whether operations can be sent.
  var isOpen: Bool { state == .acknowledged || state == .ready }

  /// Whether it waits for this attempt to be accepted.
  func isDialling(_ generation: Int) -> Bool { state == .dialling && generation == self.generation }

  /// Whether the protocol has pings.
  var canPing: Bool { traits.pings }

  /// Whether a connection carries one operation.
  var isForOne: Bool { traits.isForOne }

  /// How long a server may take to answer a ping.
  var pongLimit: Duration { settings.pong }

  /// How long what the server accepts must last to count as accepted.
  var stableTime: Duration { settings.stable }

  /// Whether the server says which operations it has, without being asked by a ping.
  var confirmsOperations: Bool { traits.confirmsOperations }

  /// When `tick` has something to do.
  var nextWake: Duration? {
    [deadline, silenceEnd, isOpen ? unneededSince.map { $0 + idleLimit } : nil].compactMap { $0 }.min()
  }

  private var idleLimit: Duration { traits.isForOne ? .zero : settings.idle }

  private var silenceEnd: Duration? {
    guard isOpen else { return nil }
    if let pongDue { return pongDue }
    if let longestSilence { return heardAt + longestSilence }
    // A server that keeps the connection alive by itself may do so just as often as a silence lasts.
    if hasKeepAlive { return heardAt + settings.silence + settings.pong }
    return traits.pings ? heardAt + settings.silence : nil
  }

  /// Sets whether there are operations.
  mutating func need(_ isNeeded: Bool, at now: Duration) -> [Action] {
    guard isNeeded != self.isNeeded else { return [] }
    self.isNeeded = isNeeded
    unneededSince = isNeeded ? nil : now
    if isNeeded { return state == .idle ? dial(at: now) : [] }
    switch state {
    case .dialling, .upgraded: return [drop(code: 1000)]
    case .acknowledged, .ready: return tick(at: now)
    case .idle, .closing, .waiting: return []
    }
  }

  /// The attempt has its token.
  mutating func prepared(at now: Duration) {
    guard state == .dialling else { return }
    // Some servers send the head of a stream with its first event.
    (deadline, mustRefresh) = (now + (traits.isForOne ? settings.streamSilence : settings.dial), false)
  }

  /// The server has accepted the connection.
  mutating func opened(at now: Duration) -> [Action] {
    guard state == .dialling else { return [] }
    (state, deadline) = (.upgraded, now + settings.acknowledgement)
    return traits.acknowledges ? [] : acknowledged(at: now)
  }

  /// The server has acknowledged the connection, and may have said how long it will be silent at most.
  mutating func acknowledged(longestSilence: Duration? = nil, at now: Duration) -> [Action] {
    guard state == .upgraded else { return [] }
    self.longestSilence = longestSilence
    (state, deadline, heardAt) = (.acknowledged, now + settings.stable, now)
    return [.start]
  }

  /// The server has sent a value, so it has accepted the token.
  mutating func proveToken() { hasRefreshed = false }

  /// A sign of life.
  mutating func heard(at now: Duration, isKeepAlive: Bool = false) {
    (heardAt, pongDue) = (now, nil)
    if isKeepAlive, traits.keepsAlive { hasKeepAlive = true }
  }

  /// Asks for a sign of life.
  mutating func ping(at now: Duration) -> Action {
    pongDue = pongDue ?? now + settings.pong
    return .ping
  }

  /// The server says how long to wait before an attempt. Not less than a tenth of a second, of which pauses still grow:
  /// a server that says 0 and goes away would be asked without any pause.
  mutating func setPause(_ pause: Duration) {
    backoff.initial = min(max(pause, .milliseconds(100)), settings.pauses.maximum)
  }

  /// Does what is due.
  mutating func tick(at now: Duration) -> [Action] {
    if let deadline, deadline <= now {
      switch state {
      case .dialling: return lost(late("The server did not accept the live connection"), at: now)
      case .upgraded:
        return lost(late("The server did not acknowledge the live connection", closeCode: 4504), at: now)
      case .acknowledged:
        (state, self.deadline) = (.ready, nil)
        (failures, hasRefreshed) = (0, false)
      case .closing: return ended(at: now)
      case .waiting:
        rest()
        return isNeeded ? dial(at: now) : []
      case .idle, .ready: self.deadline = nil
      }
    }
    guard isOpen else { return [] }
    if let unneededSince, unneededSince + idleLimit <= now {
      if traits.isForOne { return [drop(code: 1000)] }
      (state, deadline) = (.closing, now + settings.closing)
      return [.close]
    }
    guard let silenceEnd, silenceEnd <= now else { return [] }
    if traits.pings, pongDue == nil, !hasKeepAlive { return [ping(at: now)] }
    return lost(late("The live connection was silent for too long", closeCode: 4499), at: now)
  }

  private func late(_ problem: String, closeCode: UInt16 = 1000) -> LiveFailure {
    LiveFailure(RequestError(.timedOut, "\(problem) in time."), .retry, closeCode: closeCode)
  }

  /// Whether another attempt is of use after a failure.
  func mayRecover(from failure: LiveFailure) -> Bool {
    switch failure.remedy {
    case .retry: failure.isHeldBack || mayRetry(after: failures + 1)
    // A server that asks to wait does not refuse for good.
    case .refreshToken: !hasRefreshed || failure.error.retryAfter != nil && mayRetry(after: failures + 1)
    case .none: false
    }
  }

  /// Whether there may be another attempt after so many failures in a row.
  func mayRetry(after failures: Int) -> Bool { settings.attempts.map { failures < $0 } ?? true }

  /// The connection is lost, or of no more use.
  mutating func lost(_ failure: LiveFailure, at now: Duration) -> [Action] {
    guard state != .idle, state != .waiting else { return [] }
    if state == .closing { return ended(at: now) }
    let drop = drop(code: failure.closeCode)
    guard isNeeded else { return [drop] }
    guard mayRecover(from: failure) else {
      (failures, hasRefreshed) = (0, false)
      return [drop, .fail(failure.error)]
    }
    // What was not sent is no attempt.
    if !failure.isHeldBack { failures += 1 }
    let refreshes = failure.remedy == .refreshToken
    // A new token needs no pause, unless it is one of many in a row, or the server asks for one.
    let asked = failure.error.retryAfter
    let pause = refreshes && failures == 1 && asked == nil ? .zero : pause(asked: asked, after: max(failures, 1))
    mustRefresh = refreshes && !hasRefreshed || mustRefresh
    // Only rejections in a row count: a lost attempt may have taken the new token nowhere.
    if !failure.isHeldBack { hasRefreshed = refreshes }
    (state, deadline) = (.waiting, now + pause)
    return [drop, .retry(failure.error, after: pause)]
  }

  /// Ends the connection, and with this error whatever needs one.
  mutating func stop(_ error: RequestError) -> [Action] {
    let drop = drop(code: 1000)
    (failures, hasRefreshed) = (0, false)
    return isNeeded ? [drop, .fail(error)] : [drop]
  }

  /// Full jitter, so that clients that were cut off together do not come back together. It comes on top of what the
  /// server asks for, up to a day.
  func pause(asked: Duration?, after failures: Int) -> Duration {
    min(asked ?? .zero, .seconds(86_400)) + backoff.delay(after: failures)
  }

  private mutating func dial(at now: Duration) -> [Action] {
    generation += 1
    (state, deadline, pongDue, hasKeepAlive) = (.dialling, now + settings.preparation, nil, false)
    longestSilence = nil
    return [.dial(refreshingToken: mustRefresh)]
  }

  private mutating func drop(code: UInt16) -> Action {
    rest()
    return .drop(code: code)
  }

  private mutating func rest() {
    (state, deadline, pongDue) = (.idle, nil, nil)
  }

  /// The connection that was being closed has ended; operations that came meanwhile need another.
  private mutating func ended(at now: Duration) -> [Action] {
    let drop = drop(code: 1000)
    return [drop] + (isNeeded ? dial(at: now) : [])
  }
}
