import SystemBase

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

/// A subject that always has a value: a new subscriber gets the latest value, then all that follow.
///
///     BehaviorSubject(value: 0)   ──1──2──3──|
///     subscribed ▲                    2──3──|
///
/// After its end, new subscribers get only the terminal event.
public final class BehaviorSubject<Element: Sendable>: ObserverType {
  private struct Latest {
    var value: Element
    var isEnded = false
  }

  private let hub: Hub<Element>
  private let latest: Locked<Latest>

  /// A subject whose value is `value` until an element is sent.
  public init(value: Element) {
    hub = Hub(capacity: 1, replay: value)
    latest = Locked(Latest(value: value))
  }

  deinit { hub.close() }

  /// The latest element sent. It may still be on its way to the subscribers. After the end, it is the last element.
  public var value: Element { latest.withLock { $0.value } }

  /// Sends an element.
  public func onNext(_ element: Element) {
    // One lock covers the value and the place in the queue, so that the latest value is the last one delivered.
    let (old, isInside) = latest.withLock { latest -> (Element?, Bool) in
      if latest.isEnded { return (nil, false) }
      let old = exchange(&latest.value, with: element)
      return (old, hub.enter() || hub.enqueue { [hub] in hub.deliver(element) })
    }
    if isInside {
      hub.deliver(element)
      hub.leave()
    }
    withExtendedLifetime(old) {}
  }

  /// Ends with an error.
  public func onError(_ error: any Error) { end(error) }

  /// Ends.
  public func onCompleted() { end(nil) }

  private func end(_ error: (any Error)?) {
    let isInside = latest.withLock { latest in
      if latest.isEnded { return false }
      latest.isEnded = true
      return hub.enter() || hub.enqueue { self.deliverEnd(error) }
    }
    if isInside {
      deliverEnd(error)
      hub.leave()
    }
  }

  private func deliverEnd(_ error: (any Error)?) {
    hub.replay = Fifo()
    hub.deliverEnd(error)
  }

  /// The current value and all that follow, as a stream.
  public func asObservable() -> Observable<Element> { Observable { self.hub.subscribe($0) } }
}

/// Like ``PublishSubject``, but gives each new subscriber the last elements first.
///
///     create(bufferSize: 2)   ──1──2──3──4──|
///     subscribed ▲                   (23)4──|
///
/// Between the replayed elements and the live ones there is no gap and no duplicate.
public final class ReplaySubject<Element: Sendable>: ObserverType {
  @usableFromInline let hub: Hub<Element>

  private init(capacity: Int) { hub = Hub(capacity: capacity) }

  deinit { hub.close() }

  /// A subject that keeps the last `bufferSize` elements; none if `bufferSize` is 0 or less.
  public static func create(bufferSize: Int) -> ReplaySubject<Element> { ReplaySubject(capacity: max(0, bufferSize)) }

  /// A subject that keeps all elements for as long as it lives.
  public static func createUnbounded() -> ReplaySubject<Element> { ReplaySubject(capacity: .max) }

  /// Sends an element.
  @inlinable public func onNext(_ element: Element) { hub.next(element) }

  /// Ends with an error.
  @inlinable public func onError(_ error: any Error) { hub.end(error) }

  /// Ends.
  @inlinable public func onCompleted() { hub.end(nil) }

  /// The subject's events, as a stream.
  @inlinable public func asObservable() -> Observable<Element> { Observable { self.hub.subscribe($0) } }
}
