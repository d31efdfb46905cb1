/// What receives events: ``AnyObserver``, and the subjects.
public protocol ObserverType<Element>: Sendable {
  /// What is sent.
  associatedtype Element: Sendable

  /// Sends an element.
  func onNext(_ element: Element)

  /// Ends the stream with an error.
  func onError(_ error: any Error)

  /// Ends the stream.
  func onCompleted()
}

extension ObserverType {
  /// Sends an event.
  @inlinable
  public func on(_ event: Event<Element>) {
    switch event {
    case .next(let element): onNext(element)
    case .error(let error): onError(error)
    case .completed: onCompleted()
    }
  }

  /// Only the sending side.
  @inlinable public func asObserver() -> AnyObserver<Element> { AnyObserver { self.on($0) } }
}

/// Receives events: the parameter of `create`'s closure, and the result of a subject's `asObserver()`.
///
/// Thread-safe. The receiver gets one event at a time: if a call finds another one in flight, its event is queued, and
/// delivered by the thread of the other. After a terminal event, or once the subscription is disposed, calls do
/// nothing.
public struct AnyObserver<Element: Sendable>: ObserverType {
  @usableFromInline let emitter: Emitter<Element>

  @inlinable init(_ emitter: Emitter<Element>) { self.emitter = emitter }

  /// An observer that passes its events to `eventHandler`, one at a time.
  @inlinable public init(eventHandler: @escaping @Sendable (Event<Element>) -> Void) {
    let lifetime = Lifetime()
    let end: @Sendable ((any Error)?) -> Void = { error in
      guard lifetime.claim() else { return }
      eventHandler(error.map(Event.error) ?? .completed)
      lifetime.close()
    }
    emitter = Emitter(Sink(next: { eventHandler(.next($0)) }, end: end, lifetime: lifetime))
  }

  /// Sends an element.
  @inlinable public func onNext(_ element: Element) { emitter.next(element) }

  /// Ends the stream with an error.
  @inlinable public func onError(_ error: any Error) { emitter.end(error) }

  /// Ends the stream.
  @inlinable public func onCompleted() { emitter.end(nil) }

  /// The observer itself.
  @inlinable public func asObserver() -> AnyObserver<Element> { self }
}

/// One event of a stream, as a value.
public enum Event<Element: Sendable>: Sendable {
  /// An element.
  case next(Element)
  /// The end, with the error that caused it.
  case error(any Error)
  /// The end, without an error.
  case completed
}

extension Event: Equatable where Element: Equatable {
  /// Whether two events are equal. Errors count as equal if they are of one type and have one description.
  public static func == (left: Event, right: Event) -> Bool {
    switch (left, right) {
    case (.next(let left), .next(let right)): left == right
    case (.error(let left), .error(let right)):
      type(of: left) == type(of: right) && String(describing: left) == String(describing: right)
    case (.completed, .completed): true
    default: false
    }
  }
}

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
/// source sends one at a time, or inside one serializer.
@usableFromInline
final class Cell<Value>: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Value

  @inlinable init(_ value: Value) { self.value = value }
}
