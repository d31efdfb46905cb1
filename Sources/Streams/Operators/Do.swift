extension Observable {
  /// Calls the closures for the events that pass, and passes the events on unchanged.
  ///
  ///     source                  ──1──2──3──|
  ///     do(onNext: { log($0) }) ──1──2──3──|     log(1), log(2), log(3)
  ///
  /// If a closure throws, the stream ends with that error, and the source is cancelled.
  /// - Parameters:
  ///   - onNext: Called with each element, before it is passed on.
  ///   - onError: Called with the error, before it is passed on.
  ///   - onCompleted: Called at completion, before it is passed on.
  ///   - onSubscribe: Called for each subscriber, before the source is subscribed to. If it disposes the subscription,
  ///     the source is not subscribed to.
  ///   - onDispose: Called once for each subscriber: after the terminal event, or by `dispose()`. After `dispose()` on
  ///     another thread, a call of `onNext` may still finish, and a teardown that is added later runs after it.
  @inlinable
  public func `do`(
    onNext: (@Sendable (Element) throws -> Void)? = nil,
    onError: (@Sendable (any Error) throws -> Void)? = nil,
    onCompleted: (@Sendable () throws -> Void)? = nil,
    onSubscribe: (@Sendable () -> Void)? = nil,
    onDispose: (@Sendable () -> Void)? = nil
  ) -> Observable<Element> {
    Observable { sink in
      onSubscribe?()
      if let onDispose { sink.lifetime.add(ClosureNode(onDispose)) }
      if sink.lifetime.isClosed { return }
      if onNext == nil, onError == nil, onCompleted == nil { return self.start(sink) }
      self.start(
        Sink(
          next: { element in
            do {
              try onNext?(element)
              sink.next(element)
            } catch {
              sink.end(error)
            }
          },
          end: { error in
            do {
              if let error { try onError?(error) } else { try onCompleted?() }
              sink.end(error)
            } catch {
              sink.end(error)
            }
          }, lifetime: sink.lifetime))
    }
  }
}
