/// The source behind `create`: any thread may call it at any time, and its events keep the grammar of a stream.
///
/// `@unchecked Sendable`, and without exclusivity checks: `sink` is written only by `release()`, which the serializer
/// calls while no delivery is in flight.
@usableFromInline
final class Emitter<Element: Sendable>: Serializer, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var sink: Sink<Element>?

  @inlinable init(_ sink: Sink<Element>) {
    self.sink = sink
    super.init(sink.lifetime)
  }

  /// An observer handle that outlives the stream must not keep the subscriber alive.
  @usableFromInline override func release() { sink = nil }

  @inlinable func next(_ element: Element) {
    guard enter() || enqueue({ self.sink?.next(element) }) else { return }
    if !lifetime.isClosed { sink?.next(element) }
    leave()
  }

  @inlinable func end(_ error: (any Error)?) {
    guard enter() || enqueue({ self.deliverEnd(error) }) else { return }
    if !lifetime.isClosed { deliverEnd(error) }
    leave()
  }

  /// Ends, and closes the emitter: one without a subscription has nothing else to close it.
  @inlinable func deliverEnd(_ error: (any Error)?) {
    sink?.end(error)
    run()
  }
}

/// Mutable state of one subscription to an operator.
///
/// `@unchecked Sendable`, and without exclusivity checks: it is touched only inside one segment's events, which its
/// source sends one at a time.
@usableFromInline
final class Cell<Value>: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Value

  @inlinable init(_ value: Value) { self.value = value }
}
