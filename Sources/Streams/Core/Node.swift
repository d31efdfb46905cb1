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

extension Node {
  /// The address under which a list owns this node.
  var retainedAddress: UInt { UInt(bitPattern: Unmanaged.passRetained(self).toOpaque()) }

  /// Gives up the ownership that `retainedAddress` took.
  func disown() { Unmanaged.passUnretained(self).release() }
}
