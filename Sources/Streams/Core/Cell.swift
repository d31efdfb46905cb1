/// Mutable state of one subscription to an operator.
///
/// `@unchecked Sendable`, and without exclusivity checks: it is touched only inside one segment's events, which its
/// source sends one at a time.
@usableFromInline
final class Cell<Value>: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Value

  @inlinable init(_ value: Value) { self.value = value }
}
