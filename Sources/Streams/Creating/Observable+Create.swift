extension Observable {
  /// A stream made by `subscribe`, which is called for each subscriber with an observer to send events to.
  ///
  ///     create   ──observer.onNext(a)──observer.onNext(b)──observer.onCompleted()──►
  ///              ────────a──────────────────b─────────────────|
  ///
  /// The observer may be kept and called from any thread. The disposable that is returned is disposed once: after the
  /// terminal event, or at `dispose()`, or at once if either came before `subscribe` returned. Where the subscription was
  /// disposed before, `subscribe` is not called.
  @inlinable
  public static func create(
    _ subscribe: @escaping @Sendable (AnyObserver<Element>) -> any Disposable
  ) -> Observable<Element> {
    Observable { sink in
      if sink.lifetime.isClosed { return }
      let emitter = Emitter(sink)
      sink.lifetime.add(emitter)
      sink.lifetime.insert(subscribe(AnyObserver(emitter)))
    }
  }

  /// A stream that `factory` makes anew for each subscriber. An error that it throws is the stream's. Where the subscription
  /// was disposed before, `factory` is not called.
  @inlinable
  public static func deferred(
    _ factory: @escaping @Sendable () throws -> Observable<Element>
  ) -> Observable<Element> {
    Observable { sink in
      if sink.lifetime.isClosed { return }
      // Started also where the factory disposed the subscription: what it began may be the stream's to end.
      do { try factory().start(sink) } catch { sink.endIfOpen(error) }
    }
  }
}
