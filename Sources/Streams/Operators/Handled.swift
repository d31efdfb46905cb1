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

  /// Handles the end of the source. Returns what follows it, once it has been torn down; `nil` for completion. If it throws,
  /// the stream ends with that error.
  func end(_ error: (any Error)?, _ emit: (Element) -> Void) throws -> Observable<Element>?

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
}

/// One subscription to `handled`. Events of the sources and interruptions come through it one at a time.
///
/// `@unchecked Sendable`, and without exclusivity checks: the variables are touched only inside the serializer.
@usableFromInline
final class Handled<Handler: SourceHandler>: Serializer, @unchecked Sendable {
  @usableFromInline let handler: Handler
  @usableFromInline let sink: Sink<Handler.Element>
  /// The source that was started last.
  @exclusivity(unchecked) @usableFromInline var current: HandledSource<Handler>?
  /// An interruption that came when no source was running.
  @exclusivity(unchecked) @usableFromInline var interruption: (any Error)?

  @inlinable init(_ handler: Handler, _ sink: Sink<Handler.Element>) {
    self.handler = handler
    self.sink = sink
    super.init(sink.lifetime)
  }

  @usableFromInline override func run() {
    super.run()
    handler.dispose()
  }

  @usableFromInline override func release() { current = nil }

  @inlinable func begin() {
    sink.lifetime.add(self)
    do { start(try handler.start { self.interrupt($0) }) } catch { sink.endIfOpen(error) }
  }

  @inlinable func start(_ source: Observable<Handler.Element>) {
    var next = Optional(source)
    while let source = next, !sink.lifetime.isClosed {
      let handled = HandledSource(of: self)
      handled.begin()
      if !handled.attempt.isClosed {
        source.start(Sink(next: { handled.next($0) }, end: { handled.end($0) }, lifetime: handled.attempt))
      }
      next = handled.attempt.started() ? handled.successor : nil
    }
  }

  @inlinable func interrupt(_ error: @escaping @Sendable () -> (any Error)?) {
    guard enter() || enqueue({ self.handleInterruption(error) }) else { return }
    if !lifetime.isClosed { handleInterruption(error) }
    leave()
  }

  @inlinable func handleInterruption(_ error: () -> (any Error)?) {
    guard let error = error() else { return }
    if let current, !current.attempt.isClosed { current.handleEnd(error) } else { interruption = error }
  }

  @inlinable func emit(_ element: Handler.Element) {
    if !sink.lifetime.isClosed { sink.next(element) }
  }
}

/// One of the sources.
///
/// `@unchecked Sendable`: `successor` is written before `attempt` says that the source has ended, and read after that.
@usableFromInline
final class HandledSource<Handler: SourceHandler>: @unchecked Sendable {
  @usableFromInline let attempt = Attempt()
  /// Among the teardowns of the sink.
  @usableFromInline let place: UInt
  @usableFromInline let owner: Handled<Handler>
  @exclusivity(unchecked) @usableFromInline var successor: Observable<Handler.Element>?

  @inlinable init(of owner: Handled<Handler>) {
    self.owner = owner
    place = owner.sink.lifetime.add(attempt)
  }

  /// Becomes the current source, before it is started.
  @inlinable func begin() {
    guard owner.enter() || owner.enqueue({ self.handleBeginning() }) else { return }
    if !owner.lifetime.isClosed { handleBeginning() }
    owner.leave()
  }

  @inlinable func next(_ element: Handler.Element) {
    guard owner.enter() || owner.enqueue({ self.handle(element) }) else { return }
    if !owner.lifetime.isClosed { handle(element) }
    owner.leave()
  }

  @inlinable func end(_ error: (any Error)?) {
    guard owner.enter() || owner.enqueue({ self.handleEnd(error) }) else { return }
    if !owner.lifetime.isClosed { handleEnd(error) }
    owner.leave()
  }

  @inlinable func handleBeginning() {
    owner.current = self
    if let error = owner.interruption.take() { handleEnd(error) }
  }

  @inlinable func handle(_ element: Handler.Element) {
    if attempt.isClosed { return }
    do { try owner.handler.next(element) { owner.emit($0) } } catch { handleEnd(error) }
  }

  @inlinable func handleEnd(_ error: (any Error)?) {
    guard attempt.claim() else { return }
    let sink = owner.sink
    do {
      successor = try owner.handler.end(error) { owner.emit($0) }
      if successor == nil { sink.endIfOpen() }
    } catch {
      sink.endIfOpen(error)
    }
    sink.lifetime.close(attempt, at: place)
    if let successor, attempt.hasStarted() { owner.start(successor) }
  }
}
