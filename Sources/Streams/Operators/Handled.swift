public import Synchronization

/// Decides about the events of a source, and may have another source follow it, any number of times: an operator whose
/// state is one object.
///
/// The calls come one at a time, after ``start(_:)``, but for ``dispose()``.
@usableFromInline
package protocol SourceHandler<Element>: Sendable {
  associatedtype Element: Sendable

  /// The first source. If it throws, the stream ends with that error.
  func start(_ interruption: @escaping Interruption) throws -> Observable<Element>

  /// Handles an element, and emits any number. If it throws, that is the source's end.
  func next(_ element: Element, _ emit: (Element) -> Void) throws

  /// Handles the end of the source, which an error of its own has already torn down. Returns what follows it; `nil` for
  /// completion. If it throws, the stream ends with that error.
  func end(
    _ error: (any Error)?, _ interruption: @escaping Interruption, _ emit: (Element) -> Void
  ) throws -> Observable<Element>?

  /// Called once, last of all, after the stream has ended, or at its disposal, when another call may be in flight.
  func dispose()
}

/// Ends the source that is running from outside of it, with the error that a closure gives, if it gives one. That is
/// called when no event is in flight, on the thread of the caller or of the event.
@usableFromInline
package typealias Interruption = @Sendable (_ error: @escaping @Sendable () -> (any Error)?) -> Void

extension Observable {
  /// The sources that a handler starts, of which it emits what it likes. Each subscriber has a handler of its own.
  ///
  /// Sources that end at once do not use up stack.
  @inlinable
  package static func handled<Handler: SourceHandler>(
    by handler: @escaping @Sendable () -> Handler
  ) -> Observable<Element> where Handler.Element == Element {
    Observable { sink in
      if !sink.lifetime.isClosed { Handled(handler(), sink).begin() }
    }
  }

  /// The sources of handlers that an object makes: a closure that captures one object needs no memory of its own.
  @inlinable
  package static func handled<Maker: HandlerMaker>(
    by maker: Maker
  ) -> Observable<Element> where Maker.Handler.Element == Element {
    Observable { sink in
      if !sink.lifetime.isClosed { Handled(maker.makeHandler(), sink).begin() }
    }
  }
}

/// Makes a handler for each subscriber.
@usableFromInline
package protocol HandlerMaker: AnyObject, Sendable {
  associatedtype Handler: SourceHandler

  func makeHandler() -> Handler
}

/// One subscription to `handled`. Events of the sources and interruptions come through it one at a time.
///
/// The sources hold it, and not the sink's lifetime: where the last of them is gone without an end, nothing is kept.
///
/// `@unchecked Sendable`, and without exclusivity checks: the variables are touched only inside the serializer, but for
/// `successor`, which is taken outside of it by the one thread that has found it due, before another source can end.
@usableFromInline
final class Handled<Handler: SourceHandler>: Serializer, @unchecked Sendable {
  /// A source that was started, and its place among the teardowns of the sink.
  @usableFromInline typealias Source = (attempt: Attempt, place: UInt)

  @usableFromInline let handler: Handler
  @usableFromInline let sink: Sink<Handler.Element>
  /// The source that was started last.
  @exclusivity(unchecked) @usableFromInline var current: Source?
  /// An interruption that came when no source was running.
  @exclusivity(unchecked) @usableFromInline var interruption: (any Error)?
  /// What follows the source that has ended.
  @exclusivity(unchecked) @usableFromInline var successor: Observable<Handler.Element>?
  /// Whether the next thread that comes out of the serializer is to start it.
  @usableFromInline let isDue = Atomic(false)

  @inlinable init(_ handler: Handler, _ sink: Sink<Handler.Element>) {
    self.handler = handler
    self.sink = sink
    super.init(sink.lifetime)
  }

  @inlinable func begin() {
    sink.lifetime.add(HandlerNode(handler))
    do { start(try handler.start { self.interrupt($0) }) } catch { sink.endIfOpen(error) }
  }

  @inlinable func start(_ first: Observable<Handler.Element>) {
    var next = Optional(first)
    while let observable = next, !sink.lifetime.isClosed {
      let source = HandledSource(of: self)
      source.begin()
      let attempt = source.source.attempt
      if !attempt.isClosed {
        observable.start(Sink(next: { source.next($0) }, end: { source.end($0) }, lifetime: attempt))
      }
      next = attempt.started() ? successor.take() : nil
    }
  }

  /// Outside of the serializer, in which its events could not be handled as they come.
  @inlinable func startIfDue() {
    if isDue.load(ordering: .relaxed), isDue.exchange(false, ordering: .acquiring), let next = successor.take() {
      start(next)
    }
  }

  @inlinable func interrupt(_ error: @escaping @Sendable () -> (any Error)?) {
    guard enter() || enqueue({ self.handleInterruption(error) }) else { return }
    if !lifetime.isClosed { handleInterruption(error) }
    leave()
    startIfDue()
  }

  @inlinable func handleInterruption(_ error: () -> (any Error)?) {
    guard let error = error() else { return }
    if let current, !current.attempt.isClosed {
      handleEnd(of: current, error, isInterrupted: true)
    } else {
      interruption = error
    }
  }

  @inlinable func handleBeginning(of source: Source) {
    current = source
    if let error = interruption.take() { handleEnd(of: source, error, isInterrupted: true) }
  }

  @inlinable func handle(_ element: Handler.Element, of source: Source) {
    if source.attempt.isClosed { return }
    do { try handler.next(element) { emit($0) } } catch { handleEnd(of: source, error) }
  }

  @inlinable func handleEnd(of source: Source, _ error: (any Error)?, isInterrupted: Bool = false) {
    guard source.attempt.claim() else { return }
    if error != nil, !isInterrupted { sink.lifetime.close(source.attempt, at: source.place) }
    do {
      successor = try handler.end(error, { self.interrupt($0) }) { emit($0) }
      if successor == nil { sink.endIfOpen() }
    } catch {
      sink.endIfOpen(error)
    }
    sink.lifetime.close(source.attempt, at: source.place)
    if successor != nil, source.attempt.hasStarted() { isDue.store(true, ordering: .releasing) }
  }

  @inlinable func emit(_ element: Handler.Element) {
    if !sink.lifetime.isClosed { sink.next(element) }
  }
}

@usableFromInline
final class HandlerNode<Handler: SourceHandler>: Node, @unchecked Sendable {
  @usableFromInline let handler: Handler

  @inlinable init(_ handler: Handler) { self.handler = handler }

  @usableFromInline override func run() { handler.dispose() }
}

/// One of the sources, as it sends: a closure that captures one object needs no memory of its own.
@usableFromInline
final class HandledSource<Handler: SourceHandler>: Sendable {
  @usableFromInline let owner: Handled<Handler>
  @usableFromInline let source: Handled<Handler>.Source

  @inlinable init(of owner: Handled<Handler>) {
    self.owner = owner
    let attempt = Attempt()
    source = (attempt, owner.sink.lifetime.add(attempt))
  }

  /// Becomes the current source, before it is started.
  @inlinable func begin() {
    guard owner.enter() || owner.enqueue({ self.owner.handleBeginning(of: self.source) }) else { return }
    if !owner.lifetime.isClosed { owner.handleBeginning(of: source) }
    owner.leave()
    owner.startIfDue()
  }

  @inlinable func next(_ element: Handler.Element) {
    guard owner.enter() || owner.enqueue({ self.owner.handle(element, of: self.source) }) else { return }
    if !owner.lifetime.isClosed { owner.handle(element, of: source) }
    owner.leave()
    owner.startIfDue()
  }

  @inlinable func end(_ error: (any Error)?) {
    guard owner.enter() || owner.enqueue({ self.owner.handleEnd(of: self.source, error) }) else { return }
    if !owner.lifetime.isClosed { owner.handleEnd(of: source, error) }
    owner.leave()
    owner.startIfDue()
  }
}
