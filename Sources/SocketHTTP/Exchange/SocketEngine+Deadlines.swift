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

  func scan() {
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
      // What silenced a connection may well have silenced those that have been idle for longer.
      var signs = LastSigns()
      let areSilent = expired.map { exchange, phase in
        (phase == .activity || exchange.isUnanswered) && !signs.show(later: exchange, state.pool)
      }
      for ((exchange, _), isSilent) in zip(expired, areSilent) {
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

/// When the servers of connections last gave signs of life: what a connection carries is looked through once.
private struct LastSigns {
  /// By the connection; the time of one that is giving a sign is later than all others.
  private var signs: [ObjectIdentifier: Instant] = [:]

  /// Whether the server has given a sign of life on the connection of an exchange later than for that.
  mutating func show(later exchange: SocketExchange, _ pool: SocketEngine.Pool) -> Bool {
    guard let member = pool.member(carrying: exchange) else { return false }
    let id = ObjectIdentifier(member)
    // That an exchange has begun does not show that the server is there.
    let none = Instant(nanoseconds: .min)
    let last =
      signs[id]
      ?? member.exchanges.reduce(none) { last, one in
        one.exchange.isUnanswered ? last : max(last, one.exchange.lastSign ?? Instant(nanoseconds: .max))
      }
    signs[id] = last
    return last > exchange.lastSign ?? none
  }
}
