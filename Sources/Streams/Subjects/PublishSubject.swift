/// Passes each event to everyone who is subscribed at that time.
///
///     subject        ──1──2──3──|
///     subscribed ▲      ──2──3──|
///
/// Thread-safe. Events are delivered on the thread that sends them or, if another event is in flight, by the thread
/// that delivers that one. So all subscribers see the same order, and an event that is sent from a handler comes after
/// the one being handled. Subscribers that come after the end get the terminal event. A subject that goes away without
/// an end disposes its subscriptions.
public final class PublishSubject<Element: Sendable>: ObserverType {
  @usableFromInline let hub = Hub<Element>(capacity: 0)

  /// A subject without subscribers.
  public init() {}

  deinit { hub.close() }

  /// Sends an element.
  @inlinable public func onNext(_ element: Element) { hub.next(element) }

  /// Ends with an error.
  @inlinable public func onError(_ error: any Error) { hub.end(error) }

  /// Ends.
  @inlinable public func onCompleted() { hub.end(nil) }

  /// The subject's events, as a stream.
  @inlinable public func asObservable() -> Observable<Element> { Observable { self.hub.subscribe($0) } }
}
