/// Receives the events of one segment: two closures, and the lifetime that both sides share.
///
/// A source checks `lifetime` before it sends, and sends one event at a time. An operator forwards. The owner of the
/// segment, at its lower end, claims and closes the lifetime when `end` arrives.
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

  /// The sink for several sources: they may send at the same time, and it lets their events through one at a time.
  @inlinable func serialized() -> Sink<Element> {
    let serializer = serializer()
    return Sink(next: serializer.serializing(next), end: serializer.serializing(end), lifetime: lifetime)
  }

  /// A holder for one child of this segment at a time.
  @inlinable func slot() -> Slot {
    let slot = Slot()
    lifetime.add(slot)
    return slot
  }

  /// A holder for any number of children of this segment over time.
  @inlinable func registry() -> Registry {
    let registry = Registry()
    lifetime.add(registry)
    return registry
  }

  /// Sends the end, unless the segment has ended already.
  @inlinable func endIfOpen(_ error: (any Error)? = nil) {
    if !lifetime.isClosed { end(error) }
  }
}

/// The lifetime of a segment above another one: that of a source or an attempt that an operator subscribes to.
///
/// It ends during the end of the segment below, or when that is disposed. In both cases its teardowns run first, as
/// they were added last. Its terminal handler is an operator's and not the user's, so `dispose()` need not wait for it.
@usableFromInline
class Segment: Lifetime, @unchecked Sendable {
  @inlinable override init() {}

  @usableFromInline final override func dispose() { close() }
}

/// The lower end of a subscription: it owns the lifetime and has the handlers.
@usableFromInline
final class Subscriber<Element: Sendable>: Sendable {
  @usableFromInline let onNext: (@Sendable (Element) -> Void)?
  @usableFromInline let onError: (@Sendable (any Error) -> Void)?
  @usableFromInline let onCompleted: (@Sendable () -> Void)?
  @usableFromInline let lifetime: Lifetime

  @inlinable init(
    onNext: (@Sendable (Element) -> Void)?,
    onError: (@Sendable (any Error) -> Void)?,
    onCompleted: (@Sendable () -> Void)?,
    lifetime: Lifetime
  ) {
    self.onNext = onNext
    self.onError = onError
    self.onCompleted = onCompleted
    self.lifetime = lifetime
  }

  /// The source has checked already, but an operator's closure may have disposed the subscription since.
  @inlinable func next(_ element: Element) {
    if !lifetime.isClosed { onNext?(element) }
  }

  @inlinable func end(_ error: (any Error)?) {
    guard lifetime.claim() else { return }
    if let error {
      if let onError { onError(error) } else { Hooks.defaultErrorHandler(error) }
    } else {
      onCompleted?()
    }
    lifetime.close()
  }
}
