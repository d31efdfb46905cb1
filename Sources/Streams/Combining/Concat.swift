import SystemBase

extension Observable {
  /// The elements of `sources`, one source after another. The next source is subscribed to once the one before has
  /// completed and has been torn down.
  ///
  ///     a              ──1──2──|
  ///     b                      ──3──|
  ///     concat(a, b)   ──1──2────3──|
  public static func concat(_ sources: [Observable<Element>]) -> Observable<Element> {
    if sources.isEmpty { return .empty() }
    return Observable { Concat(sources, $0).advance(to: 0) }
  }

  /// The elements of `sources`, one source after another.
  public static func concat(_ sources: Observable<Element>...) -> Observable<Element> { concat(sources) }

  /// This stream, then `second`. A stream may continue with itself: the one below asks every 30 seconds, and its memory
  /// does not grow with each round.
  ///
  ///     func poll() -> Observable<Answer> {
  ///       let pause = Observable<Answer>.empty().delay(.seconds(30), scheduler: scheduler)
  ///       return .concat(ask, pause, .deferred { poll() })
  ///     }
  public func concat(_ second: Observable<Element>) -> Observable<Element> { .concat([self, second]) }

  /// The elements of the streams that `transform` returns, one stream after another.
  ///
  ///     source      ──a──b─────────────|
  ///     concatMap   ──a1──a2──b1──b2───|
  ///
  /// Waiting streams are kept without a bound. The first error ends it; an error of the source does so at once.
  @inlinable
  public func concatMap<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Observable<Result>
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let concat = ConcatMap(sink.serialized())
      self.map(transform).start(
        sink.segment(),
        next: { inner in
          concat.add(inner)
          concat.advance()
        },
        end: { error in
          concat.end(error)
          concat.advance()
        })
    }
  }
}

/// Runs streams one after another. The last one is started directly on the sink, so that a stream that continues with
/// itself does not nest.
final class Concat<Element: Sendable>: Sendable {
  private let sources: [Observable<Element>]
  private let sink: Sink<Element>
  /// If a stream ends while it is being started, the loop that started it starts the next one, so the stack does not
  /// grow.
  private let loop: Serializer

  init(_ sources: [Observable<Element>], _ sink: Sink<Element>) {
    self.sources = sources
    self.sink = sink
    loop = Serializer(sink.lifetime)
  }

  func advance(to index: Int) { loop.send(index) { self.start($0) } }

  private func start(_ index: Int) {
    if index == sources.count - 1 { return sources[index].start(sink) }
    let part = Segment()
    let place = sink.lifetime.add(part)
    sources[index].start(part, next: sink.next) { [self] error in
      if let error { return sink.end(error) }
      sink.lifetime.close(part, at: place)
      advance(to: index + 1)
    }
  }
}

/// Runs streams one after another, in the order in which they are added.
@usableFromInline
final class ConcatMap<Element: Sendable>: Sendable {
  private struct State {
    var waiting = Fifo<Observable<Element>>()
    var isBusy = false
    var isLast = false
  }

  private let sink: Sink<Element>
  private let current: Slot
  private let state = Locked(State())
  /// If a stream ends while it is being started, the loop that started it starts the next one, so the stack does not
  /// grow.
  private let loop: Serializer

  @usableFromInline init(_ sink: Sink<Element>) {
    self.sink = sink
    current = sink.slot()
    loop = sink.serializer()
  }

  @usableFromInline func add(_ source: Observable<Element>) { state.withLock { $0.waiting.append(source) } }

  /// No more streams will be added.
  @usableFromInline func end(_ error: (any Error)?) {
    if let error { return sink.end(error) }
    state.withLock { $0.isLast = true }
  }

  /// Starts the next stream, unless one is running.
  @usableFromInline func advance() { loop.send(()) { self.startNext() } }

  private func startNext() {
    let (next, isOver) = state.withLock { state -> (Observable<Element>?, Bool) in
      if state.isBusy { return (nil, false) }
      let next = state.waiting.popFirst()
      state.isBusy = next != nil
      return (next, next == nil && state.isLast)
    }
    if isOver { sink.endIfOpen() }
    guard let next else { return }
    let segment = current.child()
    next.start(segment, next: sink.next) { [self] error in
      if let error { return sink.end(error) }
      segment.close()
      state.withLock { $0.isBusy = false }
      advance()
    }
  }
}
