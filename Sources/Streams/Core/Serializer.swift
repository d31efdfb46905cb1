public import Synchronization

/// Lets one delivery through at a time, by one atomic word; nothing is called under a lock.
///
///     idle ── enter() ──► busy ── leave() ──► idle
///                          │ ▲
///              enqueue(…)  ▼ │  the thread that is inside delivers them, oldest first
///                        busy + deliveries that wait
///
/// If a delivery finds the serializer busy, on another thread or further up the same stack, it is queued for the thread
/// inside: no caller ever waits, and nothing recurses. Without contention a delivery costs two compare-and-swaps. As a
/// teardown it closes: queued deliveries are dropped, and `release()` runs when none is in flight.
@usableFromInline
class Serializer: Node, @unchecked Sendable {
  /// The address of the newest queued delivery, and the bits `busy` and `closing`.
  @usableFromInline final let word = Atomic<UInt>(0)
  @usableFromInline final let lifetime: Lifetime

  @inlinable final class var idle: UInt { 0 }
  @inlinable final class var busy: UInt { 1 }
  @inlinable final class var closing: UInt { 2 }

  @inlinable init(_ lifetime: Lifetime) {
    self.lifetime = lifetime
    super.init()
  }

  /// Drops what deliveries use. Called once, while none is in flight.
  @usableFromInline func release() {}

  /// Delivers `message` to `step`, now or as soon as the deliveries before it are done.
  @inlinable
  final func send<Message: Sendable>(_ message: Message, to step: @escaping @Sendable (Message) -> Void) {
    guard enter() || enqueue({ step(message) }) else { return }
    if !lifetime.isClosed { step(message) }
    leave()
  }

  /// `step`, with each call delivered through this serializer.
  @inlinable
  final func serializing<Message: Sendable>(
    _ step: @escaping @Sendable (Message) -> Void
  ) -> @Sendable (Message) -> Void {
    { self.send($0, to: step) }
  }

  @inlinable final func enter() -> Bool {
    word.compareExchange(expected: Serializer.idle, desired: Serializer.busy, ordering: .acquiring).exchanged
  }

  @inlinable final func leave() {
    if !word.compareExchange(expected: Serializer.busy, desired: Serializer.idle, ordering: .releasing).exchanged {
      deliverQueued()
    }
  }

  /// Queues `delivery`. Returns true if the serializer was idle by then: the caller is now inside and must deliver
  /// itself.
  @usableFromInline final func enqueue(_ delivery: @escaping @Sendable () -> Void) -> Bool {
    let node = ClosureNode(delivery)
    let address = node.retainedAddress
    var current = word.load(ordering: .relaxed)
    while current & Serializer.closing == 0 {
      let isIdle = current == Serializer.idle
      node.next = current & ~Serializer.busy
      let desired = isIdle ? Serializer.busy : address | Serializer.busy
      let result = word.compareExchange(expected: current, desired: desired, ordering: .acquiringAndReleasing)
      if result.exchanged {
        if isIdle { node.disown() }
        return isIdle
      }
      current = result.original
    }
    node.disown()
    return false
  }

  @usableFromInline final func deliverQueued() {
    repeat {
      let bits = Serializer.busy | Serializer.closing
      let old = word.bitwiseAnd(bits, ordering: .acquiringAndReleasing).oldValue
      var list = NodeList(old & ~bits)
      if old & Serializer.closing != 0 {
        list.removeAll()
        return release()
      }
      list.reverse()
      while let delivery = list.pop() {
        if !lifetime.isClosed { delivery.run() }
      }
    } while !word.compareExchange(
      expected: Serializer.busy, desired: Serializer.idle, ordering: .acquiringAndReleasing
    ).exchanged
  }

  @usableFromInline override func run() {
    let bits = Serializer.busy | Serializer.closing
    let old = word.bitwiseOr(bits, ordering: .acquiringAndReleasing).oldValue
    if old & Serializer.busy == 0 { release() }
  }
}
