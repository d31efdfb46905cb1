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
