import HTTPClientCore
import Streams
import Synchronization
import SystemBase

// Exchanges that have lost their connection, or their place on it.

extension SocketEngine {
  /// How often a request that may have been processed, or that a server has refused, is sent again, if it allows that.
  private static let mostReplays = 2

  /// A connection broke, and with it all that it carried. An exchange is sent again if it cannot have been carried out yet,
  /// or is allowed to be carried out twice.
  func didLose(_ connection: Connection, _ error: RequestError, _ losses: [ExchangeLoss]) {
    var effects = Pool.Effects()
    var failures: [Failure] = []
    let loop = state.withLock { state in
      for orphan in state.pool.remove(connection, &effects) {
        // The connection does not know one that was still to begin.
        let loss = losses.first { $0.exchange === orphan.exchange } ?? ExchangeLoss(exchange: orphan.exchange)
        // What killed this one may well have killed those that have been idle for longer.
        if loss.reached != .never, !loss.hasReceived, !orphan.isFresh {
          state.pool.removeIdle(connection.route, usedUntil: orphan.lastUse, &effects)
        }
        // It is not the request's fault if an idle connection turns out to be dead (RFC 9112, section 9.3.1), nor the
        // connection's if an upload cannot be read.
        let mayReplay = !orphan.isFresh && error.kind != .cannotRead && self.mayReplay(loss, error)
        if let failure = settle(loss, error, mayReplay: mayReplay, &state, &effects) { failures.append(failure) }
      }
      return state.loop
    }
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
    let loop = state.withLock { state in
      guard state.pool.finish(loss.exchange, on: connection) else { return state.loop }
      scan = state.didFree(connection, at: now, until: until, &effects)
      // Unlike that of a lost connection, the next attempt may well meet the same server.
      let mayReplay = self.mayReplay(loss, error) && (loss.reached != .never || countReplay(loss))
      if let failure = settle(loss, error, mayReplay: mayReplay, &state, &effects) { failures.append(failure) }
      return state.loop
    }
    if let loop, let scan { schedule(scan, on: loop) }
    report(failures, effects, on: loop)
    didClose()
  }

  private typealias Failure = (loss: ExchangeLoss, error: RequestError)

  /// Gives a lost exchange another connection, or returns its failure.
  private func settle(
    _ loss: ExchangeLoss, _ error: RequestError, mayReplay: Bool, _ state: inout State, _ effects: inout Pool.Effects
  ) -> Failure? {
    guard mayReplay else {
      var error = error
      if loss.reached == .never { error.reached = .never }
      return (loss, error)
    }
    loss.exchange.recordLoss()
    if let connection = lease(loss.exchange, at: .now, from: &state.pool, &effects) {
      effects.starting.append((loss.exchange, connection))
    }
    return nil
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
    guard loss.exchange.request.mayBeSentAgain(after: loss.reached) else { return false }
    if loss.reached == .never { return true }
    return !loss.hasReceived && error.kind == .connectionLost && countReplay(loss)
      && loss.exchange.request.recordResending()
  }

  private func countReplay(_ loss: ExchangeLoss) -> Bool {
    loss.exchange.replays.add(1, ordering: .relaxed).newValue <= Self.mostReplays
  }
}
