extension Observable {
  /// Goes on with the stream that `handler` gives for the error. The source is torn down before that one is subscribed to.
  ///
  ///     source              ──1──2──x
  ///     catch { _ in b }            ──8──9──|
  ///                         ──1──2────8──9──|
  ///
  /// An error that `handler` throws is the stream's. To try again, a handler may return the very stream that it
  /// handles; attempts that fail at once then use up stack, which with ``retry(_:)`` they do not.
  @inlinable
  public func `catch`(
    _ handler: @escaping @Sendable (any Error) throws -> Observable<Element>
  ) -> Observable<Element> {
    Observable { sink in
      let attempt = Segment()
      let place = sink.lifetime.add(attempt)
      self.start(attempt, next: sink.next) { error in
        guard let error else { return sink.end(nil) }
        sink.lifetime.close(attempt, at: place)
        if sink.lifetime.isClosed { return }
        do { try handler(error).start(sink) } catch { sink.endIfOpen(error) }
      }
    }
  }

  /// `element` and completion in the place of an error.
  ///
  ///     source                ──1──2──x
  ///     catchAndReturn(0)     ──1──2──0|
  @inlinable
  public func catchAndReturn(_ element: Element) -> Observable<Element> { `catch` { _ in .just(element) } }
}
