public import Synchronization

/// The lifetime of one segment of a subscription, as one atomic word.
///
///     open ─────────────── dispose() ────────────► closed     teardowns run, last in first out
///      │                                             ▲
///      └── claim() ──► ending ────── close() ────────┘
///                      (the terminal handler runs)
///
/// The word is the address of the newest teardown; from `claim()` on, its lowest bit is set. Closed is all ones. The
/// thread that swaps the list out runs it, so each teardown runs once, however many threads race. A teardown that is
/// added to a closed lifetime runs at once.
@usableFromInline
class Lifetime: Node, Disposable, @unchecked Sendable {
  @usableFromInline final let word = Atomic<UInt>(0)

  @inlinable final class var ending: UInt { 1 }
  @inlinable final class var closed: UInt { .max }

  @inlinable override init() {}

  deinit {
    let last = word.load(ordering: .acquiring)
    var list = NodeList(last == Lifetime.closed ? 0 : last & ~Lifetime.ending)
    list.removeAll()
  }

  /// Whether this segment may send no more events: its terminal event has begun, or it was disposed.
  @inlinable final var isClosed: Bool { word.load(ordering: .acquiring) & Lifetime.ending != 0 }

  /// Claims the right to send the terminal event. Returns true for one caller, and for none after `dispose()`.
  @inlinable final func claim() -> Bool {
    word.bitwiseOr(Lifetime.ending, ordering: .acquiringAndReleasing).oldValue & Lifetime.ending == 0
  }

  /// Runs all teardowns. Only the caller that claimed the end calls it, after the terminal handler; all others call
  /// `dispose()`.
  @usableFromInline final func close() {
    let last = word.exchange(Lifetime.closed, ordering: .acquiringAndReleasing)
    if last != Lifetime.closed { runAll(NodeList(last & ~Lifetime.ending)) }
  }

  /// Closes an open lifetime. If the lifetime is ending, the thread that claimed it will close it: the terminal handler
  /// comes first.
  @usableFromInline func dispose() {
    var current = word.load(ordering: .relaxed)
    while current & Lifetime.ending == 0 {
      let result = word.compareExchange(
        expected: current, desired: Lifetime.closed, ordering: .acquiringAndReleasing)
      if result.exchanged { return runAll(NodeList(current)) }
      current = result.original
    }
  }

  @usableFromInline final override func run() { dispose() }

  /// Adds a teardown, and returns its place, which is the address of the teardown below it.
  @discardableResult @usableFromInline final func add(_ teardown: Node) -> UInt {
    let address = teardown.retainedAddress
    var current = word.load(ordering: .relaxed)
    while current != Lifetime.closed {
      let below = current & ~Lifetime.ending
      teardown.next = below
      let desired = address | (current & Lifetime.ending)
      let result = word.compareExchange(expected: current, desired: desired, ordering: .acquiringAndReleasing)
      if result.exchanged { return below }
      current = result.original
    }
    teardown.next = 0
    teardown.disown()
    teardown.run()
    return 0
  }

  /// Closes a segment above this one, and removes it unless something was added after it. So an endless sequence of
  /// streams leaves nothing behind. Whatever lies below the newest teardown does not change, so `place` is still valid.
  @usableFromInline final func close(_ segment: Segment, at place: UInt) {
    segment.close()
    let address = UInt(bitPattern: Unmanaged.passUnretained(segment).toOpaque())
    if word.compareExchange(expected: address, desired: place, ordering: .acquiringAndReleasing).exchanged {
      segment.next = 0
      segment.disown()
    }
  }

  @usableFromInline final func insert(_ disposable: any Disposable) {
    if type(of: disposable) != NoDisposable.self { add(DisposableNode(disposable)) }
  }

  private func runAll(_ list: NodeList) {
    var list = list
    while let teardown = list.pop() { teardown.run() }
  }
}

extension Disposable {
  /// Whether this is a lifetime that has ended. The type is compared first, as a cast that fails is slow.
  var hasEnded: Bool { Self.self is Lifetime.Type && (self as? Lifetime)?.isClosed ?? false }
}
