import Streams

/// Delivers the states of one key to its watchers: in the order of the writes, one at a time, without holding a lock.
///
/// States are enqueued under the store's lock; the first thread that drains also delivers what others enqueue
/// meanwhile.
final class Channel<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  enum Delivery: Sendable {
    case state(KeyState<Key, Value>)
    case greeting(Watcher<Key, Value>, KeyState<Key, Value>)
    case farewell(UInt64)
  }

  private struct Queue {
    var deliveries: [Delivery] = []
    var isDraining = false
  }

  private let queue = Guarded(Queue())
  // Accessed only by the thread that drains, hence `@unchecked Sendable`.
  private var watchers: [(id: UInt64, watcher: Watcher<Key, Value>)] = []

  func enqueue(_ delivery: Delivery) {
    queue.withLock { $0.deliveries.append(delivery) }
  }

  func drain(freshness: Freshness, clock: StoreClock) {
    let begins = queue.withLock { queue in
      if queue.isDraining || queue.deliveries.isEmpty { return false }
      queue.isDraining = true
      return true
    }
    guard begins else { return }
    while true {
      let deliveries = queue.withLock { queue in
        if queue.deliveries.isEmpty { queue.isDraining = false }
        return exchange(&queue.deliveries, with: [])
      }
      if deliveries.isEmpty { return }
      for delivery in deliveries { deliver(delivery, freshness: freshness, now: clock.now) }
    }
  }

  private func deliver(_ delivery: Delivery, freshness: Freshness, now: StoreTime) {
    switch delivery {
    case .state(let state):
      if watchers.isEmpty { return }
      let rendered = state.rendered()
      for (_, watcher) in watchers { watcher.receive(state, rendered, freshness: freshness, now: now) }
    case .greeting(let watcher, let state):
      watchers.append((watcher.id, watcher))
      watcher.greet(state, state.rendered(), freshness: freshness, now: now)
    case .farewell(let id):
      // Ids only grow, so the list is sorted.
      let place = watchers.partitioningIndex { $0.id >= id }
      if place < watchers.count, watchers[place].id == id { watchers.remove(at: place) }
    }
  }
}
