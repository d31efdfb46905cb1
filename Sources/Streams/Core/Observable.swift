/// A stream of values over time: any number of elements, then at most one error or completion, and nothing after that.
///
/// An `Observable` only describes work: nothing runs before `subscribe`, and each subscriber starts a run of its own
/// (`share(replay:)` shares one). Events of one subscription never overlap and keep their order. They arrive on the
/// thread on which the source sends them, unless `observe(on:)` moves them.
public struct Observable<Element: Sendable>: Sendable {
  @usableFromInline let start: @Sendable (Sink<Element>) -> Void

  @inlinable init(start: @escaping @Sendable (Sink<Element>) -> Void) { self.start = start }

  /// This stream itself, for symmetry with the subjects.
  @inlinable public func asObservable() -> Observable<Element> { self }
}

extension Observable {
  /// Starts the stream, and calls back with its events.
  ///
  /// `onNext`, `onError` and `onCompleted` are called one at a time, on the threads on which the source sends. Dropping
  /// the result does not end the subscription; dispose it, or put it into a ``DisposeBag``.
  /// - Parameters:
  ///   - onNext: Called with each element.
  ///   - onError: Called at most once. Without it, an error goes to ``Hooks/defaultErrorHandler``.
  ///   - onCompleted: Called at most once.
  ///   - onDisposed: Called once: after the terminal event, or by `dispose()`. After `dispose()` on another thread, a
  ///     call of `onNext` may still finish, and a teardown that is added later runs after it.
  @inlinable
  public func subscribe(
    onNext: (@Sendable (Element) -> Void)? = nil,
    onError: (@Sendable (any Error) -> Void)? = nil,
    onCompleted: (@Sendable () -> Void)? = nil,
    onDisposed: (@Sendable () -> Void)? = nil
  ) -> any Disposable {
    let lifetime = Lifetime()
    if let onDisposed { lifetime.add(ClosureNode(onDisposed)) }
    let subscriber = Subscriber(onNext: onNext, onError: onError, onCompleted: onCompleted, lifetime: lifetime)
    start(Sink(next: { subscriber.next($0) }, end: { subscriber.end($0) }, lifetime: lifetime))
    return lifetime
  }

  /// Starts the stream, and passes its events to `observer`: a subject, for example.
  @inlinable
  public func subscribe(_ observer: some ObserverType<Element>) -> any Disposable {
    subscribe(
      onNext: { observer.onNext($0) }, onError: { observer.onError($0) }, onCompleted: { observer.onCompleted() })
  }

  /// Starts this stream in a segment of its own, for an operator that has several sources or attempts.
  ///
  /// `end` is called once, while the segment is ending. The segment closes when `end` returns, unless `end` has closed
  /// it.
  @inlinable
  func start(
    _ segment: Segment,
    next: @escaping @Sendable (Element) -> Void,
    end: @escaping @Sendable ((any Error)?) -> Void
  ) {
    if segment.isClosed { return }
    let close: @Sendable ((any Error)?) -> Void = { error in
      guard segment.claim() else { return }
      end(error)
      segment.close()
    }
    start(Sink(next: next, end: close, lifetime: segment))
  }
}
