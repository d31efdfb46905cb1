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

/// An action to run once (a teardown, or a waiting delivery), and a link in a list whose head is an atomic word.
///
/// `@unchecked Sendable`: `next` is written before the node is published by a releasing exchange of the head, and after
/// that only by the one thread that took the whole list. The properties of subclasses are constant or guarded, unless a
/// subclass says otherwise.
@usableFromInline
class Node: @unchecked Sendable {
  /// The address of the node below; a list owns each of its nodes once. An exclusivity check would cost more than the
  /// access, and would find nothing.
  @exclusivity(unchecked) @usableFromInline final var next: UInt = 0

  @inlinable init() {}

  @usableFromInline func run() {}
}

extension Node {
  /// The address under which a list owns this node.
  var retainedAddress: UInt { UInt(bitPattern: Unmanaged.passRetained(self).toOpaque()) }

  /// Gives up the ownership that `retainedAddress` took.
  func disown() { Unmanaged.passUnretained(self).release() }
}

/// A list of nodes, newest first, that was taken off its atomic word. Released in a loop, since recursion could
/// overflow the stack.
@usableFromInline
struct NodeList {
  private var head: UInt

  init(_ head: UInt) { self.head = head }

  mutating func pop() -> Node? {
    guard let pointer = UnsafeRawPointer(bitPattern: head) else { return nil }
    let node = Unmanaged<Node>.fromOpaque(pointer).takeRetainedValue()
    head = node.next
    node.next = 0
    return node
  }

  mutating func removeAll() {
    while pop() != nil {}
  }

  mutating func reverse() {
    var reversed: UInt = 0
    while let node = pop() {
      node.next = reversed
      reversed = node.retainedAddress
    }
    head = reversed
  }
}

@usableFromInline
final class ClosureNode: Node, @unchecked Sendable {
  @usableFromInline let action: @Sendable () -> Void

  @inlinable init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  @usableFromInline override func run() { action() }
}

@usableFromInline
final class DisposableNode: Node, @unchecked Sendable {
  private let disposable: any Disposable

  @usableFromInline init(_ disposable: any Disposable) { self.disposable = disposable }

  @usableFromInline override func run() { disposable.dispose() }
}
