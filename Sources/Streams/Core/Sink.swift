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

  /// A segment above this one, for a source or an attempt.
  @inlinable func segment() -> Segment {
    let segment = Segment()
    lifetime.add(segment)
    return segment
  }

  /// A serializer that closes with this segment.
  @inlinable func serializer() -> Serializer {
    let serializer = Serializer(lifetime)
    lifetime.add(serializer)
    return serializer
  }

  /// The same sink for several sources: they may speak at once, and it lets them through one at a time.
  @inlinable func serialized() -> Sink<Element> {
    let serializer = serializer()
    return Sink(next: serializer.serializing(next), end: serializer.serializing(end), lifetime: lifetime)
  }

  /// A child of this segment, one at a time.
  @inlinable func slot() -> Slot {
    let slot = Slot()
    lifetime.add(slot)
    return slot
  }

  /// Children of this segment, any number over time.
  @inlinable func registry() -> Registry {
    let registry = Registry()
    lifetime.add(registry)
    return registry
  }

  /// The end as a source sends it: not if the segment has ended already.
  @inlinable func endIfOpen(_ error: (any Error)? = nil) {
    if !lifetime.isClosed { end(error) }
  }
}
