import Dispatch
import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// Brings exchanges and connections together: the pool decides under one lock, and the engine carries out its decisions
/// without the lock.
final class SocketEngine: Sendable {
  typealias Pool = ConnectionPool<Route, Connection, SocketExchange>
  typealias ShutdownHandler = @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

  struct State {
    var pool: Pool
    var webSockets: [ObjectIdentifier: WebSocketSession] = [:]
    var loop: EventLoop?
    /// When the deadlines are checked next.
    var nextScan: Instant?
    /// What the last connection that could not be opened lacked on this machine.
    var shortage: SystemError?
    /// Whether the next probe is scheduled, in a shortage.
    var isProbing = false
    /// The routes whose servers have demanded HTTP/1.1 for what may go there in HTTP/2.
    var http1Routes: Set<Route> = []
    var isShutDown = false
    var whenShutDown: [@Sendable () -> Void] = []
    /// Those who are notified when a shutdown begins.
    var shutdownHandlers: [Int: ShutdownHandler] = [:]
    var lastHandler = 0
    /// Those who were notified, and have not called `done`.
    var unfinishedHandlers: Set<Int> = []

    /// The loop, which is started for the first request.
    mutating func runningLoop(
      _ makePoller: () throws(SystemError) -> any Poller, _ unfinished: DispatchGroup
    ) -> Result<EventLoop, RequestError> {
      if let loop { return .success(loop) }
      ForkedProcess.watch()
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

    /// The route that an exchange takes: its own, or the one without HTTP/2.
    func route(of exchange: SocketExchange) -> Route {
      guard http1Routes.contains(exchange.route) else { return exchange.route }
      var route = exchange.route
      route.allowsHTTP2 = false
      return route
    }

    /// Gives a connection to those that wait for it, or keeps it idle until `end`. Returns when a check of the deadlines is
    /// to be scheduled, if it is.
    mutating func makeAvailable(
      _ connection: Connection, at now: Instant, until end: Instant, _ effects: inout Pool.Effects
    ) -> Instant? {
      pool.makeAvailable(connection, at: now, until: end, &effects)
      return effects.starting.isEmpty && lowerNextScan(to: end) ? end : nil
    }

    /// Cancels an exchange, see `ConnectionPool.cancel`. After a shutdown, nobody needs the connection any more.
    mutating func cancel(
      _ exchange: SocketExchange, isSilent: Bool = false, _ effects: inout Pool.Effects
    ) -> Bool {
      defer { if isShutDown { pool.removeSpare(&effects) } }
      return pool.cancel(exchange, isSilent: isSilent, &effects)
    }

    /// Makes a connection available that carries an exchange less, or lets it end with those that it still carries.
    mutating func didFree(
      _ connection: Connection, at now: Instant, until end: Instant?, _ effects: inout Pool.Effects
    ) -> Instant? {
      if let end, !isShutDown { return makeAvailable(connection, at: now, until: end, &effects) }
      pool.setLimit(0, of: connection, &effects)
      return nil
    }

    /// Returns true if no check of the deadlines was due by `instant`, so that one has to be scheduled.
    mutating func lowerNextScan(to instant: Instant?) -> Bool {
      guard let instant, nextScan.map({ instant < $0 }) ?? true else { return false }
      nextScan = instant
      return true
    }
  }

  let resolver: AddressResolver
  let silent = Locked(SilentAddresses())
  let tls: TLSPreparation
  /// How many streams there may be from one server.
  let mostStreams: Int
  /// How many exchanges a connection is expected to carry that speaks HTTP/2: servers are advised to allow no fewer (RFC 9113,
  /// section 6.5.2).
  private static let usualHTTP2Limit = 100
  private let idleTime: Duration
  /// How long, in nanoseconds, a connection may have been idle to carry a request that is not replayable.
  private let idleTimeUnlessReplayable: Int64
  private let connectionLifetime: Duration
  let refusalBackoff: Backoff
  let liveness: SocketTransport.Configuration.Liveness
  private let makePoller: @Sendable () throws(SystemError) -> any Poller
  /// Makes what is said on a connection whose server chose this protocol, or none.
  let makeHTTP: @Sendable (ApplicationProtocol?) -> any HTTPConnection
  let state: Locked<State>
  /// What a shutdown waits for: the loop, and all pending callbacks to observers.
  let unfinished = DispatchGroup()

  init(
    configuration: SocketTransport.Configuration, resolver: AddressResolver,
    makePoller: @escaping @Sendable () throws(SystemError) -> any Poller,
    makeHTTP: @escaping @Sendable (ApplicationProtocol?) -> any HTTPConnection
  ) {
    idleTime = configuration.idleTime
    idleTimeUnlessReplayable = (Instant(nanoseconds: 0) + configuration.idleTimeUnlessReplayable).nanoseconds
    connectionLifetime = configuration.connectionLifetime
    refusalBackoff = configuration.refusalBackoff
    liveness = configuration.liveness
    tls = TLSPreparation(configuration.tls, whenReloaded: configuration.onCertificateReload)
    self.resolver = resolver
    self.makePoller = makePoller
    self.makeHTTP = makeHTTP
    // No system has as many descriptors; the pool counts with them.
    func clamped(_ limit: Int, from least: Int) -> Int { min(max(limit, least), Int(Int32.max)) }
    mostStreams = clamped(configuration.maximumStreamsPerOrigin, from: 0)
    let limits = Pool.Limits(
      perRoute: clamped(configuration.maximumConnectionsPerOrigin, from: 1),
      total: clamped(configuration.maximumConnections, from: 1), streamsPerRoute: mostStreams)
    state = Locked(
      State(
        pool: Pool(limits: limits, expectedLimit: { $0.allowsHTTP2 ? Self.usualHTTP2Limit : 1 }) {
          Connection(route: $0)
        }))
  }

  // MARK: - Exchanges, from any thread

  /// Sends an exchange's request, at once or when there is a connection for it. Must not be called on the loop's
  /// thread: if the request cannot be sent, the exchange fails, and calls its observer, at once.
  func start(_ exchange: SocketExchange) {
    // Before any lock, which a thread that no longer exists may have held.
    if ForkedProcess.isChild { return exchange.fail(.afterFork) }
    let deadline = exchange.earliestDeadline
    if let deadline, deadline <= exchange.start, let (phase, instant) = exchange.nextDeadline, instant <= exchange.start
    {
      return exchange.fail(exchange.error(for: phase))
    }
    var effects = Pool.Effects()
    var connection: Connection?
    var isEarlier = false
    let result: Result<EventLoop, RequestError> = state.withLock { state in
      guard !state.isShutDown else { return .failure(.afterShutdown) }
      guard !exchange.isStream || state.pool.hasRoomForStream(on: state.route(of: exchange)) else {
        return .failure(.tooManyStreams(mostStreams, to: exchange.request.origin))
      }
      return runningLoop(&state).map { loop in
        connection = lease(exchange, at: exchange.start, from: &state, &effects)
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

  /// The loop, which is started for the first request.
  func runningLoop(_ state: inout State) -> Result<EventLoop, RequestError> {
    state.runningLoop(makePoller, unfinished)
  }

  func lease(
    _ exchange: SocketExchange, at now: Instant, from state: inout State, _ effects: inout Pool.Effects
  ) -> Connection? {
    // The server may be closing a connection that has been idle: a request on it can be lost, and must then be sent
    // again (RFC 9112, section 9.3.1).
    let oldest = exchange.request.isReplayable ? 0 : max(now.nanoseconds - idleTimeUnlessReplayable, 0)
    let since = Instant(nanoseconds: oldest)
    // A copy of a route costs a fifth of a lease.
    guard !state.http1Routes.isEmpty else {
      return state.pool.lease(exchange, exchange.route, usedSince: since, isStream: exchange.isStream, &effects)
    }
    return state.pool.lease(
      exchange, state.route(of: exchange), usedSince: since, isStream: exchange.isStream, &effects)
  }

  /// Cancels an exchange, unless it has ended.
  func cancel(_ exchange: SocketExchange) {
    if ForkedProcess.isChild { return }
    var effects = Pool.Effects()
    exchange.withdraw()
    // A deadline of a middleware may have disposed it.
    let isSilent = exchange.isUnanswered && exchange.isOverdue
    guard
      let loop = state.withLock({ state in
        state.cancel(exchange, isSilent: isSilent, &effects) ? state.loop : nil
      })
    else { return }
    // At once, because the caller may send another request next, which gets the place.
    for (exchange, connection) in effects.cancelling { connection.withdraw(exchange) }
    // On the loop, because what follows may be the request of another exchange.
    loop.submit { [self, effects] in
      perform(effects, on: loop)
      didClose()
    }
  }

  /// Sends an exchange's request on the connection that it has, once its files are known to be there.
  private func start(_ exchange: SocketExchange, on connection: Connection, _ loop: EventLoop) {
    guard let upload = exchange.request.upload, upload.hasFiles else { return send(exchange, on: connection, loop) }
    let leased = Instant.now
    exchange.checkFiles(of: upload) { [self] error in
      loop.submit { [self] in didCheck(exchange, on: connection, since: leased, error, loop) }
    }
  }

  /// The files of an exchange have been looked at, which may have taken long.
  private func didCheck(
    _ exchange: SocketExchange, on connection: Connection, since leased: Instant, _ error: RequestError?,
    _ loop: EventLoop
  ) {
    if let error {
      refuse(exchange, on: connection, error)
    } else if !exchange.request.isReplayable, !connection.isShared, connection.isUsed,
      leased + .nanoseconds(idleTimeUnlessReplayable) < .now
    {
      // By now it has been idle for too long.
      connection.fail(.cut("before a request was sent"))
    } else {
      send(exchange, on: connection, loop)
    }
  }

  /// Fails an exchange of which nothing was sent on the connection that it has.
  private func refuse(_ exchange: SocketExchange, on connection: Connection, _ error: RequestError) {
    let now = Instant.now
    release(exchange, from: connection, at: now, until: idleUntil(nil, connection, from: now)) { exchange.fail(error) }
  }

  func send(_ exchange: SocketExchange, on connection: Connection, _ loop: EventLoop) {
    guard exchange.openSendGate() else { return cancel(exchange) }
    // A deadline outside of the transport has stopped the exchange, unless others wait for its response, too.
    do throws(RequestError) { try exchange.request.recordHandover() } catch {
      return loop.submit { [self] in refuse(exchange, on: connection, error) }
    }
    switch connection.start(exchange, on: loop) {
    case .sent: break
    case .blocked, .more: loop.submit { connection.flush() }
    case .read: loop.submit { connection.read() }
    case .dead(let error): loop.submit { connection.fail(error) }
    }
  }

  /// Carries out what the pool has decided. Exchanges that get a connection are begun at once, so that what the observers
  /// of others do comes later.
  func perform(_ effects: Pool.Effects, on loop: EventLoop) {
    // Only on the loop's thread; what they leave is for others.
    for (exchange, connection) in effects.cancelling {
      connection.cancel(exchange)
      didCancel(on: connection, loop)
    }
    for (exchange, connection) in effects.starting { start(exchange, on: connection, loop) }
    guard !effects.opening.isEmpty || !effects.closing.isEmpty else { return }
    loop.submit { [self] in
      for connection in effects.closing { connection.close() }
      for connection in effects.opening { connection.open(by: self, on: loop) }
    }
  }

  /// A connection has lost an exchange to a cancellation, and may be idle now.
  private func didCancel(on connection: Connection, _ loop: EventLoop) {
    let until = idleUntil(nil, connection, from: .now)
    var effects = Pool.Effects()
    let scan = state.withLock { state -> Instant? in
      guard let until else {
        state.pool.setLimit(0, of: connection, &effects)
        return nil
      }
      state.pool.keepIdle(connection, until: until)
      return state.lowerNextScan(to: until) ? until : nil
    }
    if let scan { schedule(scan, on: loop) }
    perform(effects, on: loop)
  }

  // MARK: - Callbacks from connections, on the loop's thread

  /// A connection has been opened, which carries so many exchanges at a time.
  func didOpen(_ connection: Connection, limit: Int) {
    let now = Instant.now
    let until = idleUntil(nil, connection, from: now) ?? now
    var effects = Pool.Effects()
    let (scan, loop) = state.withLock { state in
      state.pool.setLimit(limit, of: connection, &effects)
      let scan = state.makeAvailable(connection, at: now, until: until, &effects)
      if state.isShutDown { state.pool.removeSpare(&effects) }
      return (scan, state.loop)
    }
    guard let loop else { return }
    if let scan { schedule(scan, on: loop) }
    perform(effects, on: loop)
  }

  /// A connection carries so many exchanges at a time from now on.
  func didChangeLimit(of connection: Connection, to limit: Int) {
    var effects = Pool.Effects()
    let loop = state.withLock { state in
      state.pool.setLimit(limit, of: connection, &effects)
      return state.loop
    }
    if let loop { perform(effects, on: loop) }
  }

  /// A connection could not be opened.
  func didFailToOpen(_ connection: Connection, _ error: RequestError) {
    var effects = Pool.Effects()
    let cause = error.cause as? SystemError
    let (exchanges, beginsToProbe, loop) = state.withLock { state in
      if let cause, cause.isShortage { state.shortage = cause }
      let exchanges = state.pool.removeUnopened(connection, shortage: cause?.shortage, &effects)
      let beginsToProbe = state.pool.isShort && !state.isProbing
      if beginsToProbe { state.isProbing = true }
      return (exchanges, beginsToProbe, state.loop)
    }
    if let loop {
      for exchange in exchanges { loop.deliver(to: exchange.mailbox) { exchange.fail(error) } }
      perform(effects, on: loop)
      if beginsToProbe { scheduleProbe(1, on: loop) }
    }
    didClose()
  }

  /// The times from one probe to the next in a shortage.
  private static let probes = Backoff(initial: .milliseconds(10), maximum: .milliseconds(250), jitter: 0)

  /// Schedules the probe of this number, from 1.
  private func scheduleProbe(_ number: Int, on loop: EventLoop) {
    loop.schedule(at: .now + Self.probes.delay(after: number)) { [weak self] in self?.probe(number) }
  }

  /// Tries whether a shortage is over: other parts of the process may have closed descriptors.
  private func probe(_ number: Int) {
    var effects = Pool.Effects()
    let (isShort, loop) = state.withLock { state in
      state.pool.probe(&effects)
      state.isProbing = state.pool.isShort
      return (state.isProbing, state.loop)
    }
    guard let loop else { return }
    perform(effects, on: loop)
    if isShort { scheduleProbe(number + 1, on: loop) }
  }

  /// The whole response has arrived.
  func didComplete(_ completion: ExchangeCompletion, on connection: Connection, isReusable: Bool) {
    let now = Instant.now
    let until = isReusable ? idleUntil(completion.keepAlive, connection, from: now) : nil
    let (exchange, parts) = (completion.exchange, completion.parts)
    release(exchange, from: connection, at: now, until: until, since: completion.start) { exchange.complete(parts) }
  }

  /// Ends an exchange, and makes its connection available until an instant, if there is one. `begin` is when the request
  /// was sent, if a response came; `end` is called where the observer is, unless the exchange was cancelled.
  private func release(
    _ exchange: SocketExchange, from connection: Connection, at now: Instant, until: Instant?,
    since begin: Instant? = nil, _ end: @escaping @Sendable () -> Void
  ) {
    var effects = Pool.Effects()
    var scan: Instant?
    let (isMine, inFlight, loop) = state.withLock { state in
      let inFlight = state.pool.exchangesInFlight
      let isMine = state.pool.finish(exchange, on: connection)
      if isMine { scan = state.didFree(connection, at: now, until: until, &effects) }
      return (isMine, inFlight, state.loop)
    }
    guard let loop else { return }
    if let begin { loop.recordResponse(after: now - begin, of: inFlight) }
    if let scan { schedule(scan, on: loop) }
    // The connection comes first, so that a request made by the observer finds it.
    perform(effects, on: loop)
    // After a cancellation this may be the last reference to the exchange: release what its request holds elsewhere.
    exchange.end(on: loop) { if isMine { end() } }
  }

  /// Until when a connection may be idle; `nil` if it is not to be used again.
  func idleUntil(_ keepAlive: Int?, _ connection: Connection, from now: Instant) -> Instant? {
    // A second less than the server says, because its clock started before ours, and a request takes time to arrive.
    let end = now + (keepAlive.map { min(idleTime, .seconds(max($0 - 1, 0))) } ?? idleTime)
    let until = min(end, connection.madeAt + connectionLifetime * connection.lifetimeShare)
    return until > now ? until : nil
  }

  /// The response of an exchange is read as it arrives, which may take long. Returns whether there is a place for it among
  /// the streams.
  func didBecomeStream(_ exchange: SocketExchange) -> Bool {
    var effects = Pool.Effects()
    let (isStream, loop) = state.withLock { state in
      (state.pool.becomeStream(exchange, &effects), state.loop)
    }
    if let loop { perform(effects, on: loop) }
    return isStream
  }

}

extension SocketEngine {
  /// The numbers of connections and waiting exchanges.
  func statistics() -> SocketTransport.Statistics {
    state.withLock { state in
      var statistics = SocketTransport.Statistics()
      state.pool.forEachRoute { route, counts in
        let origin = HTTPOrigin(
          scheme: route.isSecure ? "https" : "http", host: route.host, port: route.port)
        statistics.total.add(counts)
        statistics.origins[origin, default: .init()].add(counts)
      }
      return statistics
    }
  }
}

extension RequestError {
  /// The error of a stream that finds no place.
  static func tooManyStreams(
    _ limit: Int, to origin: HTTPOrigin, reached: RequestError.Reach = .never
  ) -> RequestError {
    RequestError(
      .overloaded,
      "There are \(limit) streams from '\(origin)', and no more may be: end one, or raise maximumStreamsPerOrigin.",
      reached: reached)
  }
}
