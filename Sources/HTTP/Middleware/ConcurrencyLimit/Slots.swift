import Streams

/// Which requests may go and which wait, first come, first served: pure, without locks.
struct Slots<Waiter: Sendable>: Sendable {
  enum Entry: Hashable, Sendable {
    case go, wait, refused
  }

  private let limit: Int
  private let queueLimit: Int
  private var taken = 0
  private var waiters: [UInt64: Waiter] = [:]
  private var order = Fifo<UInt64>()

  /// How many places the line takes up, left ones included.
  var lineLength: Int { order.count }

  init(limit: Int, queueLimit: Int) {
    self.limit = max(limit, 1)
    self.queueLimit = max(queueLimit, 0)
  }

  /// Takes a slot; returns false if all are taken.
  mutating func takeFree() -> Bool {
    guard taken < limit else { return false }
    taken += 1
    return true
  }

  /// Gives a slot or a place in line, or refuses.
  mutating func enter(_ id: UInt64, _ waiter: Waiter) -> Entry {
    if takeFree() { return .go }
    guard waiters.count < queueLimit else { return .refused }
    waiters[id] = waiter
    order.append(id)
    return .wait
  }

  /// Gives one slot back, and returns the next waiter, which now has it.
  mutating func leave() -> Waiter? {
    while let id = order.popFirst() {
      if let waiter = waiters.removeValue(forKey: id) { return waiter }
    }
    taken -= 1
    return nil
  }

  /// Takes a waiter out of the line; returns false if it is no longer there, and may have a slot.
  mutating func abandon(_ id: UInt64) -> Bool {
    guard waiters.removeValue(forKey: id) != nil else { return false }
    order.compact(to: waiters.count) { waiters[$0] != nil }
    return true
  }
}
