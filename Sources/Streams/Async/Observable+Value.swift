extension Observable {
  /// The first element; then the stream is disposed.
  ///
  /// Cancelling the task disposes the stream. A source without a thread of its own speaks on this task.
  /// - Throws: the stream's error, ``StreamError/noElements`` if it completes without one, or `CancellationError`.
  public var value: Element {
    get async throws {
      let lifetime = Lifetime()
      let outcome = Outcome<Element>()
      return try await withTaskCancellationHandler {
        // First in, so last out: the upstream is torn down when the cancelled task goes on.
        lifetime.add(ClosureNode { outcome.mailbox.close() })
        let finish: @Sendable (Result<Element, any Error>) -> Void = { result in
          guard lifetime.claim() else { return }
          outcome.result = result
          lifetime.close()
        }
        await TaskMailbox.$current.withValue(outcome.mailbox) {
          if !lifetime.isClosed {
            start(
              Sink(
                next: { finish(.success($0)) },
                end: { finish(.failure($0 ?? StreamError.noElements)) },
                lifetime: lifetime))
          }
          await outcome.mailbox.run()
        }
        return try outcome.result.get()
      } onCancel: {
        lifetime.dispose()
      }
    }
  }
}

/// What a task that awaits comes away with: a cancellation, unless something else comes.
///
/// `@unchecked Sendable`: `result` is written by the one that claims the lifetime, before the mailbox closes with it, and
/// read by the task after that.
private final class Outcome<Element: Sendable>: @unchecked Sendable {
  let mailbox = TaskMailbox()
  var result: Result<Element, any Error> = .failure(CancellationError())
}
