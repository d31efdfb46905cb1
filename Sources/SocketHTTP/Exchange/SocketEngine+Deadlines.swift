import HTTPClientCore
import Streams
import SystemBase

// The deadlines of exchanges, and the idle times of connections.

extension SocketEngine {
  /// The shortest time between two checks of the deadlines.
  private static var shortestScan: Duration { .milliseconds(10) }

  func schedule(_ instant: Instant, on loop: EventLoop) {
    loop.lowerAlarm(to: instant) { [weak self] in self?.scan() }
  }

  private func scan() {
    let now = Instant.now
    var effects = Pool.Effects()
    var expired: [(exchange: SocketExchange, phase: ExchangeDeadlines.Phase)] = []
    var shortage: SystemError?
    let (next, loop) = state.withLock { state -> (Instant?, EventLoop?) in
      guard let due = state.nextScan, due <= now else { return (state.nextScan, state.loop) }
      if state.pool.isShort { shortage = state.shortage }
      var next = state.pool.removeExpired(at: now, &effects)
      state.pool.forEachExchange { exchange in
        if let (phase, deadline) = exchange.nextDeadline, deadline <= now {
          expired.append((exchange, phase))
        } else {
          next = earlier(next, exchange.nextLook(after: now))
        }
      }
      for (exchange, phase) in expired {
        // What silenced this connection may well have silenced those that have been idle for longer.
        let isSilent =
          (phase == .activity || exchange.isUnanswered)
          && !state.pool.companions(of: exchange).contains { $0.isHeard(after: exchange) }
        exchange.withdraw()
        _ = state.cancel(exchange, isSilent: isSilent, &effects)
      }
      state.nextScan = next.map { max($0, now + Self.shortestScan) }
      return (state.nextScan, state.loop)
    }
    guard let loop else { return }
    for (exchange, phase) in expired {
      loop.deliver(to: exchange.mailbox) { [shortage] in exchange.fail(exchange.error(for: phase, shortage)) }
    }
    perform(effects, on: loop)
    if let next { schedule(next, on: loop) }
    didClose()
  }
}
