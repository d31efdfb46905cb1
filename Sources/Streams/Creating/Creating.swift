extension Observable {
  /// A stream made from `subscribe`, which is called for each subscriber with an observer to send events to.
  ///
  ///     create   ──observer.onNext(a)──observer.onNext(b)──observer.onCompleted()──►
  ///              ────────a──────────────────b─────────────────|
  ///
  /// The observer may be kept and called from any thread. The returned disposable is disposed once: after the terminal
  /// event or at `dispose()`, or at once if either came before `subscribe` returned. If the subscription has been
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

  /// A stream that `factory` makes for each subscriber.
  ///
  ///     deferred { .just(count.next()) }   1|     for the first subscriber
  ///                                        2|     for the second
  ///
  /// If `factory` throws, the stream fails with that error. If the subscription has been disposed before, `factory` is
  /// not called.
  @inlinable
  public static func deferred(
    _ factory: @escaping @Sendable () throws -> Observable<Element>
  ) -> Observable<Element> {
    Observable { sink in
      if sink.lifetime.isClosed { return }
      // Started even if the factory disposed the subscription: the stream may have to end what the factory began.
      do { try factory().start(sink) } catch { sink.endIfOpen(error) }
    }
  }
}

extension Observable {
  /// One element, then completion.
  ///
  ///     just(a)   a|
  @inlinable
  public static func just(_ element: Element) -> Observable<Element> {
    Observable { sink in
      if sink.lifetime.isClosed { return }
      sink.next(element)
      sink.endIfOpen()
    }
  }

  /// The elements of `sequence`, then completion. Each subscriber iterates from the start, until it is disposed.
  ///
  ///     from([a, b, c])   abc|
  @inlinable
  public static func from(_ sequence: some Sequence<Element> & Sendable) -> Observable<Element> {
    Observable { sink in
      for element in sequence {
        if sink.lifetime.isClosed { return }
        sink.next(element)
      }
      sink.endIfOpen()
    }
  }

  /// Completion alone.
  ///
  ///     empty()   |
  @inlinable public static func empty() -> Observable<Element> { Observable { $0.endIfOpen() } }

  /// An error alone.
  ///
  ///     error(e)   x
  @inlinable public static func error(_ error: any Error) -> Observable<Element> { Observable { $0.endIfOpen(error) } }

  /// Nothing, for ever.
  ///
  ///     never()   ─────
  @inlinable public static func never() -> Observable<Element> { Observable { _ in } }
}
