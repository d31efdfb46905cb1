@usableFromInline
final class ClosureNode: Node, @unchecked Sendable {
  @usableFromInline let action: @Sendable () -> Void

  @inlinable init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  @usableFromInline override func run() { action() }
}
