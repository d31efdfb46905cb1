/// Where the events of one segment go: two calls, and the lifetime that both sides share.
///
/// A source checks `lifetime` before it speaks and calls one at a time; an operator forwards; the owner of the segment, at
/// its lower end, claims and closes the lifetime when `end` arrives.
@usableFromInline
struct Sink<Element: Sendable>: Sendable {
  @usableFromInline let next: @Sendable (Element) -> Void
  @usableFromInline let end: @Sendable ((any Error)?) -> Void
  @usableFromInline let lifetime: Lifetime

  @inlinable init(
    next: @escaping @Sendable (Element) -> Void,
    end: @escaping @Sendable ((any Error)?) -> Void,
    lifetime: Lifetime
  ) {
    self.next = next
    self.end = end
    self.lifetime = lifetime
  }

  /// The end as a source sends it: not if the segment has ended already.
  @inlinable func endIfOpen(_ error: (any Error)? = nil) {
    if !lifetime.isClosed { end(error) }
  }
}
