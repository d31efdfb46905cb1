extension Observable {
  /// The first element; then the stream is disposed.
  ///
  /// Cancelling the task disposes the stream. A source that has no thread of its own runs on this task.
  /// - Throws: the stream's error, ``StreamError/noElements`` if it completes without one, or `CancellationError`.
  @inlinable
  public var value: Element {
    get async throws {
      let outcome = Outcome<Element>()
      let lifetime = outcome.lifetime
      return try await withTaskCancellationHandler {
        await outcome.mailbox.run {
          // Added first, so run last: the upstream is torn down before the cancelled task resumes.
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
