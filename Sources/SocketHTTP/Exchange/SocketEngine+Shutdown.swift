import Dispatch
import HTTPClientCore
import Streams
import SystemBase

// The end of a transport.

extension SocketEngine {
  /// How long those who are notified of a shutdown may keep their connections.
  private static let shutdownPatience = Duration.seconds(1)

  /// See `ShutdownNotifying.onShutdown(_:)`.
  func onShutdown(_ body: @escaping ShutdownHandler) -> any Disposable {
    if ForkedProcess.isChild { return Disposables.create() }
    let number = state.withLock { state -> Int? in
      guard !state.isShutDown else { return nil }
      state.lastHandler += 1
      state.shutdownHandlers[state.lastHandler] = body
      return state.lastHandler
    }
    guard let number else { return Disposables.create() }
    return Disposables.create { [weak self] in
      if ForkedProcess.isChild { return }
      // What it holds is released outside the lock.
      let handler = self?.state.withLock { $0.shutdownHandlers.removeValue(forKey: number) }
      withExtendedLifetime(handler) {}
    }
  }

  /// Refuses new requests, closes idle connections, lets running exchanges finish within a limit, and then calls back.
  func shutDown(within limit: Duration?, _ completion: @escaping @Sendable () -> Void) {
    // What there is belongs to the parent.
    if ForkedProcess.isChild { return completion() }
    var effects = Pool.Effects()
    let (loop, handlers) = state.withLock { state in
      state.isShutDown = true
      state.whenShutDown.append(completion)
      state.pool.removeSpare(&effects)
      state.unfinishedHandlers.formUnion(state.shutdownHandlers.keys)
      return (state.loop, exchange(&state.shutdownHandlers, with: [:]))
    }
    guard let loop else {
      for (number, handler) in handlers { handler { [self] in didFinish(number) } }
      return didClose()
    }
    perform(effects, on: loop)
    loop.submit { [self] in
      for (number, handler) in handlers {
        loop.deliver(to: nil) { [self] in handler { [self] in didFinish(number) } }
      }
      if state.withLock({ $0.unfinishedHandlers.isEmpty }) {
        shutDownWebSockets()
      } else {
        let patience = min(limit ?? Self.shutdownPatience, Self.shutdownPatience)
        loop.schedule(at: .now + patience) { [weak self] in self?.shutDownWebSockets() }
      }
      if let limit { loop.schedule(at: .now + limit) { [weak self] in self?.cutOff() } }
    }
  }

  /// Someone who was notified of the shutdown has done what they wanted to do. Called on any thread.
  private func didFinish(_ number: Int) {
    let (isLast, loop) = state.withLock { state in
      let isLast = state.unfinishedHandlers.remove(number) != nil && state.unfinishedHandlers.isEmpty
      return (isLast, state.loop)
    }
    guard isLast else { return }
    if let loop { loop.submit { [self] in shutDownWebSockets() } } else { didClose() }
  }

  /// Nobody has anything more to say on the WebSockets: closes those that are still open.
  private func shutDownWebSockets() {
    state.withLock { $0.unfinishedHandlers = [] }
    for session in webSockets { session.shutDown() }
    didClose()
  }

  /// Fails all exchanges that are still in flight.
  private func cutOff() {
    var effects = Pool.Effects()
    var exchanges: [SocketExchange] = []
    let loop = state.withLock { state in
      state.pool.forEachExchange { exchanges.append($0) }
      for exchange in exchanges {
        exchange.withdraw()
        _ = state.cancel(exchange, &effects)
      }
      return state.loop
    }
    guard let loop else { return }
    let error = RequestError(
      .connectionLost, "The transport was shut down before the response was complete.", cause: TransportShutdown())
    for exchange in exchanges { loop.deliver(to: exchange.mailbox) { exchange.fail(error) } }
    perform(effects, on: loop)
    for session in webSockets { session.cutOff() }
    didClose()
  }

  /// Called when something has ended, which may have been the last that a shutdown waits for.
  func didClose() {
    let (completions, loop) = state.withLock { state -> ([@Sendable () -> Void], EventLoop?) in
      guard state.isShutDown, state.unfinishedHandlers.isEmpty, state.pool.isEmpty, state.webSockets.isEmpty else {
        return ([], nil)
      }
      return (exchange(&state.whenShutDown, with: []), state.loop.take())
    }
    loop?.stop()
    guard !completions.isEmpty else { return }
    unfinished.notify(queue: .unshared()) {
      for completion in completions { completion() }
    }
  }
}

extension RequestError {
  /// The error of what is begun after a shutdown.
  static var afterShutdown: RequestError {
    RequestError(.cannotConnect, "The transport was shut down.", cause: TransportShutdown())
  }
}
