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
  private let state = Guarded(State())
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
