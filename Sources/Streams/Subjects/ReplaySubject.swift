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
