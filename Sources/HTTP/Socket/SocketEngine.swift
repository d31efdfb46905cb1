import Foundation
import Synchronization

/// Brings exchanges and connections together: what the pool decides under one lock is done here without it.
final class SocketEngine: Sendable {
  typealias Pool = ConnectionPool<Route, Connection, SocketExchange>

  struct State {
    var pool: Pool
    var loop: EventLoop?
    /// When the deadlines are looked at next.
    var nextScan: Instant?
    var isShutDown = false
    var whenShutDown: [@Sendable () -> Void] = []

    /// The loop, which is made for the first request.
    mutating func runningLoop(
      _ makePoller: () throws(SystemError) -> any Poller, _ unfinished: DispatchGroup
    ) -> Result<EventLoop, RequestError> {
      if let loop { return .success(loop) }
      do throws(SystemError) {
        let loop = EventLoop(poller: try makePoller(), unfinished: unfinished)
        try loop.start()
        self.loop = loop
        return .success(loop)
      } catch {
        return .failure(
          RequestError(.cannotConnect, "The system gives no thread or descriptors: \(error).", cause: error))
      }
    }

    /// Gives a connection to who waits for it, or keeps it until a time.
    mutating func makeAvailable(
      _ connection: Connection, until instant: Instant, _ effects: inout Pool.Effects
    ) -> Next {
      let exchange = pool.makeAvailable(connection, until: instant, &effects)
      return Next(exchange: exchange, scan: exchange == nil && lowerNextScan(to: instant) ? instant : nil)
    }

    /// True where nobody would look at the deadlines by then, and a look is to be scheduled.
    mutating func lowerNextScan(to instant: Instant?) -> Bool {
      guard let instant, nextScan.map({ instant < $0 }) ?? true else { return false }
      nextScan = instant
      return true
    }
  }

  let resolver = AddressResolver()
  let tls: TLSPreparation
  private let idleTime: Duration
  private let makePoller: @Sendable () throws(SystemError) -> any Poller
  let state: Locked<State>
  /// What a shutdown waits for: the loop, and all that is on its way to observers.
  let unfinished = DispatchGroup()

  /// How often a request is sent anew that may have been processed, where it allows that.
  private static let mostReplays = 2

  init(
    limits: Pool.Limits, idleTime: Duration, tls: TLSConfiguration,
    makePoller: @escaping @Sendable () throws(SystemError) -> any Poller
  ) {
    self.idleTime = idleTime
    self.tls = TLSPreparation(tls)
    self.makePoller = makePoller
    state = Locked(State(pool: Pool(limits: limits) { Connection(route: $0) }))
  }

  // MARK: - Exchanges, from any thread

  /// Sends an exchange's request, now or when a connection is there for it. Not from the loop's thread: one that cannot
  /// be sent fails at once.
  func start(_ exchange: SocketExchange) {
    let deadline = exchange.earliestDeadline
    if let deadline, deadline <= exchange.start, let phase = exchange.passedDeadline {
      return exchange.fail(exchange.error(for: phase))
    }
    var effects = Pool.Effects()
    var connection: Connection?
    var isEarlier = false
    let result: Result<EventLoop, RequestError> = state.withLock { state in
      guard !state.isShutDown else { return .failure(RequestError(.cannotConnect, "The transport was shut down.")) }
      return state.runningLoop(makePoller, unfinished).map { loop in
        connection = state.pool.lease(exchange, exchange.route, &effects)
        isEarlier = state.lowerNextScan(to: deadline)
        return loop
      }
    }
    switch result {
    case .success(let loop):
      if isEarlier, let deadline { loop.submit { [self] in schedule(deadline, on: loop) } }
      perform(effects, on: loop)
      if let connection { start(exchange, on: connection, loop) }
    case .failure(let error):
      exchange.fail(error)
    }
  }

  /// Stops an exchange, unless it has ended.
  func cancel(_ exchange: SocketExchange) {
    var effects = Pool.Effects()
    guard
      let loop = state.withLock({ state in
        state.pool.cancel(exchange, &effects) ? state.loop : nil
      })
    else { return }
    perform(effects, on: loop)
    loop.submit { [self] in didClose() }
  }

  private func start(_ exchange: SocketExchange, on connection: Connection, _ loop: EventLoop) {
    guard exchange.depart() else { return cancel(exchange) }
    switch connection.start(exchange) {
    case .sent: break
    case .blocked, .more: loop.submit { connection.flush() }
    case .broken: loop.submit { connection.read() }
    case .dead(let error): loop.submit { connection.fail(error) }
    }
  }

  func perform(_ effects: Pool.Effects, on loop: EventLoop) {
    guard !effects.opening.isEmpty || !effects.closing.isEmpty else { return }
    loop.submit { [self] in
      for connection in effects.closing { connection.close() }
      for connection in effects.opening { connection.open(by: self, on: loop) }
    }
  }

  // MARK: - What connections tell, on the loop's thread

  /// A connection stands.
  func didOpen(_ connection: Connection) {
    let until = idleUntil(nil, from: .now)
    var effects = Pool.Effects()
    let (next, loop) = state.withLock { state in
      let next = state.makeAvailable(connection, until: until, &effects)
      if state.isShutDown { state.pool.removeSpare(&effects) }
      return (next, state.loop)
    }
    guard let loop else { return }
    start(next, on: connection, loop)
    perform(effects, on: loop)
  }

  /// A connection could not be opened.
  func didFailToOpen(_ connection: Connection, _ error: RequestError) {
    var effects = Pool.Effects()
    let (exchange, loop) = state.withLock { state in
      (state.pool.removeUnopened(connection, &effects), state.loop)
    }
    if let exchange { loop?.deliver(to: exchange.mailbox) { exchange.fail(error) } }
    if let loop { perform(effects, on: loop) }
    didClose()
  }

  /// A whole answer has arrived to what was sent at `begin`. `keepAlive` is how many seconds the server says it keeps the
  /// connection, where it does.
  func didComplete(
    _ exchange: SocketExchange, on connection: Connection, since begin: Instant,
    _ parts: [HTTPResponsePart], isReusable: Bool, keepAlive: Int?
  ) {
    let now = Instant.now
    let until = isReusable ? idleUntil(keepAlive, from: now) : nil
    var effects = Pool.Effects()
    var next: Next?
    let (isMine, underWay, loop) = state.withLock { state in
      let underWay = state.pool.exchangesUnderWay
      guard state.pool.finish(exchange, on: connection) else { return (false, underWay, state.loop) }
      if let until, !state.isShutDown {
        next = state.makeAvailable(connection, until: until, &effects)
      } else {
        effects.closing.append(connection)
        _ = state.pool.remove(connection, &effects)
      }
      return (true, underWay, state.loop)
    }
    guard let loop else { return }
    loop.noteAnswer(after: now - begin, of: underWay)
    // First the connection, so that a request made by the observer finds it.
    if let next { start(next, on: connection, loop) }
    // Who has cancelled it may have let go of it: what its request holds is let go of elsewhere.
    loop.deliver(to: exchange.mailbox) { if isMine { exchange.complete(parts) } }
    perform(effects, on: loop)
  }

  /// When a connection has been idle long enough.
  private func idleUntil(_ keepAlive: Int?, from now: Instant) -> Instant {
    // A second less than the server says, for its clock began to run before ours.
    now + (keepAlive.map { min(idleTime, .seconds(max($0 - 1, 0))) } ?? idleTime)
  }

  /// What follows when a connection is available.
  struct Next {
    /// Who has waited for it.
    var exchange: SocketExchange?
    /// When a look at the deadlines is to be scheduled.
    var scan: Instant?
  }

  private func start(_ next: Next, on connection: Connection, _ loop: EventLoop) {
    if let instant = next.scan { schedule(instant, on: loop) }
    if let exchange = next.exchange { start(exchange, on: connection, loop) }
  }

  /// A connection broke; its exchange is sent anew where that cannot do it twice, or may.
  func didLose(_ connection: Connection, _ loss: ConnectionLoss) {
    var effects = Pool.Effects()
    var failed: SocketExchange?
    var sent: (SocketExchange, Connection)?
    let loop = state.withLock { state -> EventLoop? in
      guard let orphan = state.pool.remove(connection, &effects) else { return state.loop }
      guard mayReplay(orphan, loss) else {
        failed = orphan.exchange
        return state.loop
      }
      orphan.exchange.noteLoss()
      // The others have been idle for longer: what killed this one may well have killed them.
      if loss.hasSent { state.pool.removeIdle(connection.route, &effects) }
      if let connection = state.pool.lease(orphan.exchange, connection.route, &effects) {
        sent = (orphan.exchange, connection)
      }
      return state.loop
    }
    if let loop {
      if let failed { loop.deliver(to: failed.mailbox) { failed.fail(loss.error, after: loss.parts) } }
      perform(effects, on: loop)
      if let (exchange, connection) = sent { start(exchange, on: connection, loop) }
    }
    didClose()
  }

  /// An idle connection that turns out to be dead is nobody's fault (RFC 9112, section 9.3.1).
  private func mayReplay(_ orphan: Pool.Orphan, _ loss: ConnectionLoss) -> Bool {
    guard !orphan.isFresh else { return false }
    guard loss.hasSent else { return true }
    return !loss.hasReceived && loss.error.kind == .connectionLost && orphan.exchange.request.isReplayable
      && orphan.exchange.replays.add(1, ordering: .relaxed).newValue <= Self.mostReplays
  }
}
