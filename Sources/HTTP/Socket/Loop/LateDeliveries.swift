import Streams

/// Deliveries that have waited too long, in order, and the workers that run them: a free worker takes the next one.
///
/// A busy machine can have hundreds of late deliveries, so the number of workers is limited: a few at first, and twice
/// as many each time that all of these have begun and deliveries still wait.
final class LateDeliveries: Sendable {
  typealias Start = @Sendable (@escaping @Sendable () -> Void) -> Void

  private struct State {
    var deliveries = Fifo<Delivery>()
    /// Workers that were started, but have not begun.
    var starting = 0
    var next = LateDeliveries.fewestWorkers
  }

  private static let fewestWorkers = 4
  /// How many workers are started at a time at most.
  private static let mostWorkers = 256
  private let state = Locked(State())
  private let start: Start

  /// Takes a function that runs a closure on a thread of its own, which may block.
  init(_ start: @escaping Start) {
    self.start = start
  }

  var isEmpty: Bool { state.withLock { $0.deliveries.isEmpty } }

  func add(_ deliveries: [Delivery]) {
    guard !deliveries.isEmpty else { return }
    state.withLock { state in
      for delivery in deliveries { state.deliveries.append(delivery) }
    }
  }

  /// Starts workers if those started before do not suffice. To be called from time to time.
  func startWorkers() {
    startWorkers { state in
      guard !state.deliveries.isEmpty else {
        state.next = Self.fewestWorkers
        return 0
      }
      // A worker that has yet to begin will take what there is.
      guard state.starting == 0 else { return 0 }
      defer { state.next = min(2 * state.next, Self.mostWorkers) }
      return min(state.next, state.deliveries.count)
    }
  }

  /// Starts a worker for each delivery.
  func startWorkerForEach() {
    startWorkers { $0.deliveries.count }
  }

  private func startWorkers(_ count: (inout State) -> Int) {
    let count = state.withLock { state in
      let count = count(&state)
      state.starting += count
      return count
    }
    for _ in 0..<count { start { [self] in work() } }
  }

  private func work() {
    state.withLock { $0.starting -= 1 }
    while let delivery = state.withLock({ $0.deliveries.popFirst() }) { delivery.run() }
  }
}
