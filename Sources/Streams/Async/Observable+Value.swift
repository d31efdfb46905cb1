internal import Synchronization

extension Observable {
  /// The first element; then the stream is disposed.
  ///
  /// Cancelling the task disposes the stream.
  /// - Throws: the stream's error, ``StreamError/noElements`` if it completes without one, or `CancellationError`.
  public var value: Element {
    get async throws {
      let lifetime = Lifetime()
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let once = Once(continuation)
          // First in, so last out: the upstream is torn down when the cancelled task goes on.
          lifetime.add(ClosureNode { once.resume(with: .failure(CancellationError())) })
          let finish: @Sendable (Result<Element, any Error>) -> Void = { result in
            guard lifetime.claim(), once.take() else { return }
            lifetime.close()
            once.continuation.resume(with: result)
          }
          if lifetime.isClosed { return }
          start(
            Sink(
              next: { finish(.success($0)) },
              end: { finish(.failure($0 ?? StreamError.noElements)) },
              lifetime: lifetime))
        }
      } onCancel: {
        lifetime.dispose()
      }
    }
  }
}

/// A continuation that is resumed once, whoever comes first.
private final class Once<Element: Sendable>: Sendable {
  let continuation: CheckedContinuation<Element, any Error>
  private let isTaken = Atomic<Bool>(false)

  init(_ continuation: CheckedContinuation<Element, any Error>) { self.continuation = continuation }

  func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }

  func resume(with result: Result<Element, any Error>) {
    if take() { continuation.resume(with: result) }
  }
}
