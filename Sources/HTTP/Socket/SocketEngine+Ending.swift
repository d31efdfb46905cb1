import Foundation

extension SocketEngine {
  // MARK: - Deadlines

  /// The shortest time between two checks of the deadlines.
  private static var shortestScan: Duration { .milliseconds(10) }

  func schedule(_ instant: Instant, on loop: EventLoop) {
    loop.lowerAlarm(to: instant) { [weak self] in self?.scan() }
  }

  private func scan() {
    let now = Instant.now
    var effects = Pool.Effects()
    var expired: [(exchange: SocketExchange, phase: ExchangeDeadlines.Phase)] = []
    let (next, loop) = state.withLock { state -> (Instant?, EventLoop?) in
      guard let due = state.nextScan, due <= now else { return (state.nextScan, state.loop) }
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
        let isSilent = phase == .answer || exchange.isUnanswered
        _ = state.pool.cancel(exchange, isSilent: isSilent, &effects)
      }
      state.nextScan = next.map { max($0, now + Self.shortestScan) }
      return (state.nextScan, state.loop)
    }
    guard let loop else { return }
    for (exchange, phase) in expired {
      loop.deliver(to: exchange.mailbox) { exchange.fail(exchange.error(for: phase)) }
    }
    perform(effects, on: loop)
    if let next { schedule(next, on: loop) }
    didClose()
  }

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

  // MARK: - The end

  /// Refuses new requests, closes idle connections, lets running exchanges finish within a limit, and then calls back.
  func shutDown(within limit: Duration?, _ completion: @escaping @Sendable () -> Void) {
    // What there is belongs to the parent.
    if ForkedProcess.isChild { return completion() }
    var effects = Pool.Effects()
    let loop = state.withLock { state in
      state.isShutDown = true
      state.whenShutDown.append(completion)
      state.pool.removeSpare(&effects)
      return state.loop
    }
    guard let loop else { return didClose() }
    perform(effects, on: loop)
    loop.submit { [self] in
      didClose()
      if let limit { loop.schedule(at: .now + limit) { [weak self] in self?.cutOff() } }
    }
  }

  /// Fails all exchanges that are still under way.
  private func cutOff() {
    var effects = Pool.Effects()
    var exchanges: [SocketExchange] = []
    let loop = state.withLock { state in
      state.pool.forEachExchange { exchanges.append($0) }
      for exchange in exchanges { _ = state.pool.cancel(exchange, &effects) }
      return state.loop
    }
    guard let loop else { return }
    let error = RequestError(.connectionLost, "The transport was shut down before the response was complete.")
    for exchange in exchanges { loop.deliver(to: exchange.mailbox) { exchange.fail(error) } }
    perform(effects, on: loop)
    didClose()
  }

  /// Called when something has ended, which may have been the last that a shutdown waits for.
  func didClose() {
    let (completions, loop) = state.withLock { state -> ([@Sendable () -> Void], EventLoop?) in
      guard state.isShutDown, state.pool.isEmpty else { return ([], nil) }
      return (exchange(&state.whenShutDown, with: []), state.loop.take())
    }
    loop?.stop()
    guard !completions.isEmpty else { return }
    unfinished.notify(queue: .unshared()) {
      for completion in completions { completion() }
    }
  }
}
