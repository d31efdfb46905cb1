/// Runs deliveries one after the other, on a thread that it has only while there are some.
final class DeliveryWorker: Sendable {
  private struct State {
    var deliveries: [Delivery] = []
    var isRunning = false
  }

  private let state = Locked(State())

  /// Runs deliveries after those that were added before.
  func add(_ deliveries: [Delivery]) {
    let isFirst = state.withLock { state in
      state.deliveries += deliveries
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { ThreadPool.shared.run { [self] in work() } }
  }

  private func work() {
    while true {
      let deliveries = state.withLock { state in
        state.isRunning = !state.deliveries.isEmpty
        return exchange(&state.deliveries, with: [])
      }
      if deliveries.isEmpty { return }
      for delivery in deliveries { delivery.run() }
    }
  }
}
