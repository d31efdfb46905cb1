import Foundation
import Synchronization

/// Brings exchanges and connections together: the pool decides under one lock, and the engine carries out its decisions
/// without the lock.
final class SocketEngine: Sendable {
  typealias Pool = ConnectionPool<Route, Connection, SocketExchange>

  struct State {
    var pool: Pool
    var loop: EventLoop?
    /// When the deadlines are checked next.
    var nextScan: Instant?
    var isShutDown = false
    var whenShutDown: [@Sendable () -> Void] = []

    /// The loop, which is started for the first request.
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
          RequestError(.cannotConnect, "The system has no thread or descriptors left: \(error).", cause: error))
      }
    }

    /// Gives a connection to the exchange that waits for it, or keeps it idle until `instant`.
    mutating func makeAvailable(
      _ connection: Connection, until instant: Instant, _ effects: inout Pool.Effects
    ) -> Next {
      let exchange = pool.makeAvailable(connection, until: instant, &effects)
      return Next(exchange: exchange, scan: exchange == nil && lowerNextScan(to: instant) ? instant : nil)
    }

    /// Returns true if no check of the deadlines was due by `instant`, so that one has to be scheduled.
    mutating func lowerNextScan(to instant: Instant?) -> Bool {
      guard let instant, nextScan.map({ instant < $0 }) ?? true else { return false }
      nextScan = instant
      return true
    }
  }

  let resolver: AddressResolver
  let tls: TLSPreparation
  private let idleTime: Duration
  private let connectionLifetime: Duration
  private let makePoller: @Sendable () throws(SystemError) -> any Poller
  let state: Locked<State>
  /// What a shutdown waits for: the loop, and all pending callbacks to observers.
  let unfinished = DispatchGroup()

  /// How often a request that may have been processed is sent again, if it allows that.
  private static let mostReplays = 2

  init(
    limits: Pool.Limits, idleTime: Duration, connectionLifetime: Duration, tls: TLSConfiguration,
    resolver: AddressResolver,
    makePoller: @escaping @Sendable () throws(SystemError) -> any Poller
  ) {
    self.idleTime = idleTime
    self.connectionLifetime = connectionLifetime
    self.tls = TLSPreparation(tls)
    self.resolver = resolver
    self.makePoller = makePoller
    state = Locked(State(pool: Pool(limits: limits) { Connection(route: $0) }))
  }

  // MARK: - Exchanges, from any thread

  /// Sends an exchange's request, at once or when there is a connection for it. Must not be called on the loop's
  /// thread: if the request cannot be sent, the exchange fails, and calls its observer, at once.
  func start(_ exchange: SocketExchange) {
    let deadline = exchange.earliestDeadline
    if let deadline, deadline <= exchange.start, let (phase, instant) = exchange.nextDeadline, instant <= exchange.start
    {
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

  /// Cancels an exchange, unless it has ended.
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

  // MARK: - Callbacks from connections, on the loop's thread

  /// A connection has been opened.
  func didOpen(_ connection: Connection) {
    let now = Instant.now
    let until = idleUntil(nil, connection, from: now) ?? now
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
    let isShort = (error.cause as? SystemError)?.isShortage ?? false
    let (exchange, loop) = state.withLock { state in
      (state.pool.removeUnopened(connection, isShort: isShort, &effects), state.loop)
    }
    if let exchange { loop?.deliver(to: exchange.mailbox) { exchange.fail(error) } }
    if let loop { perform(effects, on: loop) }
    didClose()
  }

  /// The whole response has arrived to a request that was sent at `begin`. `keepAlive` is how many seconds the server
  /// keeps the connection, if it says so.
  func didComplete(
    _ exchange: SocketExchange, on connection: Connection, since begin: Instant,
    _ parts: [HTTPResponsePart], isReusable: Bool, keepAlive: Int?
  ) {
    let now = Instant.now
    let until = isReusable ? idleUntil(keepAlive, connection, from: now) : nil
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
    // The connection comes first, so that a request made by the observer finds it.
    if let next { start(next, on: connection, loop) }
    // After a cancellation this may be the last reference to the exchange: release what its request holds elsewhere.
    loop.deliver(to: exchange.mailbox) { if isMine { exchange.complete(parts) } }
    perform(effects, on: loop)
  }

  /// Until when a connection may be idle; `nil` if it is not to be used again.
  private func idleUntil(_ keepAlive: Int?, _ connection: Connection, from now: Instant) -> Instant? {
    // A second less than the server says, because its clock started before ours.
    let end = now + (keepAlive.map { min(idleTime, .seconds(max($0 - 1, 0))) } ?? idleTime)
    let until = min(end, connection.madeAt + connectionLifetime * connection.lifetimeShare)
    return until > now ? until : nil
  }

  /// What follows when a connection becomes available.
  struct Next {
    /// The exchange that has waited for it.
    var exchange: SocketExchange?
    /// When a check of the deadlines is to be scheduled.
    var scan: Instant?
  }

  private func start(_ next: Next, on connection: Connection, _ loop: EventLoop) {
    if let instant = next.scan { schedule(instant, on: loop) }
    if let exchange = next.exchange { start(exchange, on: connection, loop) }
  }

  /// A connection broke. Its exchange is sent again if it cannot have been carried out yet, or is allowed to be carried
  /// out twice.
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
      // The other idle connections have been idle for longer: what killed this one may well have killed them.
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

  /// Whether the exchange of a broken connection may be sent again. It is not the request's fault if an idle connection
  /// turns out to be dead (RFC 9112, section 9.3.1).
  private func mayReplay(_ orphan: Pool.Orphan, _ loss: ConnectionLoss) -> Bool {
    guard !orphan.isFresh else { return false }
    guard loss.hasSent else { return true }
    return !loss.hasReceived && loss.error.kind == .connectionLost && orphan.exchange.request.isReplayable
      && orphan.exchange.replays.add(1, ordering: .relaxed).newValue <= Self.mostReplays
  }
}
