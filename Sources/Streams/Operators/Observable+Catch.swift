extension Observable {
  /// Continues with the stream that `handler` returns for the error. The source is torn down before that stream is
  /// subscribed to.
  ///
  ///     source              ──1──2──x
  ///     catch { _ in b }            ──8──9──|
  ///                         ──1──2────8──9──|
  ///
  /// If `handler` throws, the stream fails with that error. To try again, a handler may return the very stream that it
  /// handles; attempts that fail at once then use up stack, unlike those of ``retry(_:)``.
  @inlinable
  public func `catch`(
    _ handler: @escaping @Sendable (any Error) throws -> Observable<Element>
  ) -> Observable<Element> {
    Observable { sink in
      let attempt = Attempt()
      let place = sink.lifetime.add(attempt)
      @Sendable func goOn(after error: any Error) {
        if sink.lifetime.isClosed { return }
        do { try handler(error).start(sink) } catch { sink.endIfOpen(error) }
      }
      self.start(attempt, next: sink.next) { error in
        guard let error else { return sink.end(nil) }
        sink.lifetime.close(attempt, at: place)
        if attempt.hasStarted(beforeFailing: error) { goOn(after: error) }
      }
      if let error = attempt.started() { goOn(after: error) }
    }
  }

  /// Replaces an error by `element` and completion.
  ///
  ///     source                ──1──2──x
  ///     catchAndReturn(0)     ──1──2──0|
  @inlinable
  public func catchAndReturn(_ element: Element) -> Observable<Element> { `catch` { _ in .just(element) } }
}
