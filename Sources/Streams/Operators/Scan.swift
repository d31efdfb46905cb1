extension Observable {
  /// The result of folding each element into `seed`, after each element.
  ///
  ///     source              ──1──2──3──|
  ///     scan(0) { $0 + $1 } ──1──3──6──|
  @inlinable
  public func scan<Result: Sendable>(
    _ seed: Result, accumulator: @escaping @Sendable (Result, Element) throws -> Result
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let state = Cell(seed)
      self.start(
        Sink(
          next: { element in
            do {
              let result = try accumulator(state.value, element)
              state.value = result
              sink.next(result)
            } catch {
              sink.end(error)
            }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }

  /// The result of folding all elements into `seed`, at completion.
  ///
  ///     source                                    ──1──2──3──|
  ///     reduce(into: 0) { $0 += $1 } finishing: { $0 } ────────6|
  ///
  /// If `accumulator` or `finish` throws, the stream ends with that error, and the source is cancelled.
  @inlinable
  package func reduce<Accumulator: Sendable, Result: Sendable>(
    into seed: Accumulator, _ accumulator: @escaping @Sendable (inout Accumulator, Element) throws -> Void,
    finishing finish: @escaping @Sendable (Accumulator) throws -> Result
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let state = Cell(seed)
      self.start(
        Sink(
          next: { element in
            do { try accumulator(&state.value, element) } catch { sink.end(error) }
          },
          end: { error in
            if let error { return sink.end(error) }
            do { sink.next(try finish(state.value)) } catch { return sink.end(error) }
            sink.endIfOpen()
          }, lifetime: sink.lifetime))
    }
  }

  /// What `step` emits for each element, and `finish` at completion. Both can change a state, which begins as `seed`
  /// for each subscriber.
  ///
  ///     source                  ──1──2──3──|
  ///     emits pairs, and a rest ─────12────3|
  ///
  /// If `step` or `finish` throws, the stream ends with that error, and the source is cancelled.
  @inlinable
  package func transform<State: Sendable, Result: Sendable>(
    _ seed: State,
    _ step: @escaping @Sendable (inout State, Element, _ emit: (Result) -> Void) throws -> Void,
    finishing finish: @escaping @Sendable (inout State, _ emit: (Result) -> Void) throws -> Void
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let transformation = Transformation(seed, step, finish, sink)
      self.start(
        Sink(
          next: { transformation.next($0) }, end: { transformation.end($0) }, lifetime: sink.lifetime))
    }
  }

  /// The elements that differ from the one before. `comparer` returns true for two that count as the same.
  ///
  ///     source                  ──1──1──2──2──1──|
  ///     distinctUntilChanged()  ──1─────2─────1──|
  @inlinable
  public func distinctUntilChanged(
    _ comparer: @escaping @Sendable (Element, Element) throws -> Bool
  ) -> Observable<Element> {
    Observable { sink in
      let last = Cell<Element?>(nil)
      self.start(
        Sink(
          next: { element in
            do {
              if let last = last.value, try comparer(last, element) { return }
              last.value = element
              sink.next(element)
            } catch {
              sink.end(error)
            }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }

  /// The elements that differ from the one before.
  @inlinable
  public func distinctUntilChanged() -> Observable<Element> where Element: Equatable {
    distinctUntilChanged { $0 == $1 }
  }
}

/// One subscription to `transform`: a closure that captures one object needs no memory of its own.
///
/// `@unchecked Sendable`, and without exclusivity checks: `state` is touched only inside one segment's events, which its
/// source sends one at a time.
@usableFromInline
final class Transformation<State: Sendable, Element: Sendable, Result: Sendable>: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var state: State
  @usableFromInline let step: @Sendable (inout State, Element, (Result) -> Void) throws -> Void
  @usableFromInline let finish: @Sendable (inout State, (Result) -> Void) throws -> Void
  @usableFromInline let sink: Sink<Result>

  @inlinable init(
    _ state: State, _ step: @escaping @Sendable (inout State, Element, (Result) -> Void) throws -> Void,
    _ finish: @escaping @Sendable (inout State, (Result) -> Void) throws -> Void, _ sink: Sink<Result>
  ) {
    self.state = state
    self.step = step
    self.finish = finish
    self.sink = sink
  }

  @inlinable func next(_ element: Element) {
    do { try step(&state, element) { self.emit($0) } } catch { sink.end(error) }
  }

  @inlinable func end(_ error: (any Error)?) {
    if let error { return sink.end(error) }
    do { try finish(&state) { self.emit($0) } } catch { return sink.end(error) }
    sink.endIfOpen()
  }

  @inlinable func emit(_ result: Result) {
    if !sink.lifetime.isClosed { sink.next(result) }
  }
}
