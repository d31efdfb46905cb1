/// Something to run once, and its link in a list whose head is an atomic word: a teardown, or a delivery that waits.
///
/// `@unchecked Sendable`: `next` is written before the node is published by a releasing exchange of the head, and then
/// only by the one thread that took the whole list away. What subclasses add are constants, or guarded, unless they say how.
@usableFromInline
class Node: @unchecked Sendable {
  /// The address of the node below; a list owns each of its nodes once. Touched for an instant at a time, so that a check
  /// for overlapping accesses, which costs more than the access, would find nothing.
  @exclusivity(unchecked) @usableFromInline final var next: UInt = 0

  @inlinable init() {}

  @usableFromInline func run() {}
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

/// A list of nodes that was taken off its word, newest first. It is walked, never unwound: it may be long.
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

extension Node {
  /// The address under which a list owns this node.
  var retainedAddress: UInt { UInt(bitPattern: Unmanaged.passRetained(self).toOpaque()) }

  /// Gives up the ownership that `retainedAddress` took.
  func disown() { Unmanaged.passUnretained(self).release() }
}
