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
