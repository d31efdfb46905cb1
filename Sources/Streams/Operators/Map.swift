extension Observable {
  /// Each element, transformed.
  ///
  ///     source          ──1──2──3──|
  ///     map { $0 * 10 } ──10─20─30─|
  ///
  /// If `transform` throws, the stream ends with that error, and the source is cancelled.
  @inlinable
  public func map<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Result
  ) -> Observable<Result> {
    Observable<Result> { sink in
      self.start(
        Sink(
          next: { element in
            do { sink.next(try transform(element)) } catch { sink.end(error) }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }

  /// Each element, transformed; elements for which `transform` returns nil are dropped.
  ///
  ///     source                 ──1──x──3──|
  ///     compactMap { Int($0) } ──1─────3──|
  @inlinable
  public func compactMap<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Result?
  ) -> Observable<Result> {
    Observable<Result> { sink in
      self.start(
        Sink(
          next: { element in
            do {
              if let result = try transform(element) { sink.next(result) }
            } catch {
              sink.end(error)
            }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }

  /// The elements for which `predicate` is true.
  ///
  ///     source               ──1──2──3──4──|
  ///     filter { $0 > 2 }    ────────3──4──|
  @inlinable
  public func filter(_ predicate: @escaping @Sendable (Element) throws -> Bool) -> Observable<Element> {
    Observable { sink in
      self.start(
        Sink(
          next: { element in
            do {
              if try predicate(element) { sink.next(element) }
            } catch {
              sink.end(error)
            }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }
}
