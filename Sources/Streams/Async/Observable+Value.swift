extension Observable {
  /// The first element; then the stream is disposed.
  ///
  /// Cancelling the task disposes the stream. A source without a thread of its own speaks on this task.
  /// - Throws: the stream's error, ``StreamError/noElements`` if it completes without one, or `CancellationError`.
  @inlinable
  public var value: Element {
    get async throws {
      let outcome = Outcome<Element>()
      let lifetime = outcome.lifetime
      return try await withTaskCancellationHandler {
        await outcome.mailbox.run {
          // First in, so last out: the upstream is torn down when the cancelled task goes on.
          lifetime.add(outcome)
          if !lifetime.isClosed {
            start(
              Sink(
                next: { outcome.finish($0, nil) },
                end: { outcome.finish(nil, $0 ?? StreamError.noElements) },
                lifetime: lifetime))
          }
        }
        guard let element = outcome.element else { throw outcome.error ?? CancellationError() }
        return element
      } onCancel: {
        lifetime.dispose()
      }
    }
  }
}

/// What a task that awaits comes away with; nothing where it was cancelled. As a teardown it ends the wait.
///
/// `@unchecked Sendable`, and not checked for overlapping accesses either: `element` and `error` are written by the one
/// that claims the lifetime, before the mailbox closes with it, and read by the task after that.
@usableFromInline
final class Outcome<Element: Sendable>: Node, @unchecked Sendable {
  @usableFromInline let lifetime = Lifetime()
  @usableFromInline let mailbox = TaskMailbox()
  @exclusivity(unchecked) @usableFromInline var element: Element?
  @exclusivity(unchecked) @usableFromInline var error: (any Error)?

  @inlinable override init() {}

  @inlinable func finish(_ element: Element?, _ error: (any Error)?) {
    guard lifetime.claim() else { return }
    self.element = element
    self.error = error
    lifetime.close()
  }

  @usableFromInline override func run() { mailbox.close() }
}
