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
      let state = Cell(seed)
      let emit: @Sendable (Result) -> Void = { if !sink.lifetime.isClosed { sink.next($0) } }
      self.start(
        Sink(
          next: { element in
            do { try step(&state.value, element, emit) } catch { sink.end(error) }
          },
          end: { error in
            if let error { return sink.end(error) }
            do { try finish(&state.value, emit) } catch { return sink.end(error) }
            sink.endIfOpen()
          }, lifetime: sink.lifetime))
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
