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
