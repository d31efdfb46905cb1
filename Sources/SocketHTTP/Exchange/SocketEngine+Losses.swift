import HTTPClientCore
import Streams
import Synchronization
import SystemBase

// Exchanges that have lost their connection, or their place on it.

extension SocketEngine {
  /// How often a request that may have been processed is sent again, if it allows that.
  private static let mostReplays = 2
  /// How often a request that was refused without having been processed is sent again.
  private static let mostRefusals = 6
  /// How many origins are remembered to demand HTTP/1.1.
  private static let mostHTTP1Routes = 1024

  /// What becomes of a lost exchange.
  private enum Fate {
    case fails
    case replayed
    case postponed(Duration)
  }

  /// A connection broke, and with it all that it carried. An exchange is sent again if it cannot have been carried out yet,
  /// or is allowed to be carried out twice.
  func didLose(_ connection: Connection, _ error: RequestError, _ losses: [ExchangeLoss]) {
    var effects = Pool.Effects()
    var failures: [Failure] = []
    var pauses: [Pause] = []
    let known = Dictionary(losses.map { (ObjectIdentifier($0.exchange), $0) }) { first, _ in first }
    let loop = state.withLock { state in
      for orphan in state.pool.remove(connection, &effects) {
        // The connection does not know one that was still to begin.
        let loss = known[ObjectIdentifier(orphan.exchange)] ?? ExchangeLoss(exchange: orphan.exchange)
        // What killed this one may well have killed those that have been idle for longer.
        if loss.reached != .never, !loss.hasReceived, !orphan.isFresh {
          state.pool.removeIdle(connection.route, usedUntil: orphan.lastUse, &effects)
        }
        if loss.requiresHTTP1 { requireHTTP1(connection.route, &state) }
        // It is not the request's fault if an idle connection turns out to be dead (RFC 9112, section 9.3.1), nor the
        // connection's if an upload cannot be read.
        let isRefusal = loss.isRefused || loss.requiresHTTP1 || loss.isExpelled && loss.reached == .never
        let mayTry = isRefusal ? countRefusal(loss) != nil : !orphan.isFresh
        let mayReplay = mayTry && error.kind != .cannotRead && self.mayReplay(loss, error)
        let fate = mayReplay ? fate(inTurn: loss.exchange.resendings, mayFollow: !loss.isExpelled) : .fails
        if case .postponed(let delay) = fate { pauses.append((loss.exchange, delay)) }
        settle(loss, error, fate, &state, &effects, &failures)
      }
      return state.loop
    }
    resume(pauses, on: loop)
    report(failures, effects, on: loop)
    didClose()
  }

  /// An exchange was lost, and its connection was not: the server has refused or ended it alone.
  func didLose(_ loss: ExchangeLoss, _ error: RequestError, on connection: Connection) {
    let now = Instant.now
    let until = idleUntil(nil, connection, from: now)
    var effects = Pool.Effects()
    var failures: [Failure] = []
    var scan: Instant?
    var pauses: [Pause] = []
    let hasCarried = connection.isUsed
    let loop = state.withLock { state in
      guard state.pool.finish(loss.exchange, on: connection) else { return state.loop }
      let isMoved = loss.requiresHTTP1 || !state.pool.takesMore(connection)
      if loss.requiresHTTP1 { requireHTTP1(connection.route, &state) }
      scan = state.didFree(connection, at: now, until: until, &effects)
      let fate = fate(of: loss, error, isMoved: isMoved, hasCarried: hasCarried)
      if case .postponed(let delay) = fate { pauses.append((loss.exchange, delay)) }
      settle(loss, error, fate, &state, &effects, &failures)
      return state.loop
    }
    if let loop, let scan { schedule(scan, on: loop) }
    resume(pauses, on: loop)
    report(failures, effects, on: loop)
    didClose()
  }

  /// What becomes of an exchange that its server has refused or ended. One that `isMoved` goes to another connection, or in
  /// another version; otherwise, the next attempt may well meet the same server in the same state.
  ///
  /// If a connection ends that `hasCarried` others, that is no refusal, unless the server says that something is wrong.
  private func fate(of loss: ExchangeLoss, _ error: RequestError, isMoved: Bool, hasCarried: Bool) -> Fate {
    // Anything else is the request's fault, or that of what it sends.
    guard error.kind == .connectionLost, mayReplay(loss, error) else { return .fails }
    if loss.reached != .never { return .replayed }
    let hasMoved = isMoved && !loss.isExpelled
    if hasMoved, hasCarried { return .replayed }
    guard let number = countRefusal(loss) else { return .fails }
    return fate(inTurn: number, mayFollow: hasMoved)
  }

  /// How an exchange is sent again for the nth time: the first time at once, and later only if it may be.
  private func fate(inTurn number: Int, mayFollow: Bool) -> Fate {
    mayFollow || number <= 1 ? .replayed : .postponed(refusalBackoff.delay(after: number - 1))
  }

  private typealias Pause = (exchange: SocketExchange, delay: Duration)

  private func resume(_ pauses: [Pause], on loop: EventLoop?) {
    for (exchange, delay) in pauses {
      loop?.schedule(at: .now + delay) { [weak self] in self?.resume(exchange) }
    }
  }

  /// The time of an exchange that was postponed has come.
  private func resume(_ exchange: SocketExchange) {
    var effects = Pool.Effects()
    let loop = state.withLock { state in
      guard state.pool.resume(exchange) else { return state.loop }
      lease(again: exchange, &state, &effects)
      return state.loop
    }
    if let loop { perform(effects, on: loop) }
  }

  private typealias Failure = (loss: ExchangeLoss, error: RequestError)

  /// Gives a lost exchange another connection, now or later, or adds its failure.
  private func settle(
    _ loss: ExchangeLoss, _ error: RequestError, _ fate: Fate, _ state: inout State, _ effects: inout Pool.Effects,
    _ failures: inout [Failure]
  ) {
    switch fate {
    case .fails:
      var error = error
      // Who made the error need not have known what had left.
      if (loss.reached == .never) != (error.reached == .never) { error.reached = loss.reached }
      failures.append((loss, error))
    case .replayed:
      loss.exchange.recordLoss()
      lease(again: loss.exchange, &state, &effects)
    case .postponed(let delay):
      // The time to connect begins after the pause.
      loss.exchange.recordLoss(at: .now + delay)
      state.pool.postpone(loss.exchange)
    }
  }

  private func lease(again exchange: SocketExchange, _ state: inout State, _ effects: inout Pool.Effects) {
    if let connection = lease(exchange, at: .now, from: &state, &effects) {
      effects.starting.append((exchange, connection))
    }
  }

  private func report(_ failures: [Failure], _ effects: Pool.Effects, on loop: EventLoop?) {
    guard let loop else { return }
    for (loss, error) in failures {
      loss.exchange.end(on: loop) { loss.exchange.fail(error, after: loss.parts) }
    }
    perform(effects, on: loop)
  }

  /// Whether a lost exchange may be sent again, as far as its request is concerned.
  private func mayReplay(_ loss: ExchangeLoss, _ error: RequestError) -> Bool {
    // Who has made a CONNECT to another protocol knows another way.
    guard loss.exchange.channel == nil, loss.exchange.request.mayBeSentAgain(after: loss.reached) else { return false }
    if loss.reached == .never { return true }
    return !loss.hasReceived && error.kind == .connectionLost && countReplay(loss)
      && loss.exchange.request.recordResending()
  }

  private func countReplay(_ loss: ExchangeLoss) -> Bool {
    loss.exchange.replays.add(1, ordering: .relaxed).newValue <= Self.mostReplays
  }

  /// The number of a refusal, from 1; `nil` if there were too many.
  private func countRefusal(_ loss: ExchangeLoss) -> Int? {
    let number = loss.exchange.refusals.add(1, ordering: .relaxed).newValue
    return number <= Self.mostRefusals ? number : nil
  }

  /// Has everything for an origin that was to go there in HTTP/2 sent in HTTP/1.1.
  private func requireHTTP1(_ route: Route, _ state: inout State) {
    if state.http1Routes.count >= Self.mostHTTP1Routes { state.http1Routes = [] }
    if route.allowsHTTP2 { state.http1Routes.insert(route) }
  }
}
