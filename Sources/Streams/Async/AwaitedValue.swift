extension Observable {
  /// The first element; then the stream is disposed.
  ///
  /// Cancelling the task disposes the stream. A source that has no thread of its own runs on this task.
  ///
  /// If the source will send nothing more, and does not say so, such as a subject that nothing else refers to, the task waits
  /// until it is cancelled.
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

/// The result of awaiting a stream's value; empty if the task was cancelled. As a teardown, it ends the wait.
///
/// `@unchecked Sendable`, and without exclusivity checks: `element` and `error` are written by the one thread that
/// claims the lifetime, before the mailbox closes with it, and read by the task after that.
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

extension Observable {
  /// The result of `work`, then completion. If `work` throws, the stream fails with that error. Disposing cancels the
  /// task.
  ///
  ///     async { await f() }   ──────a|
  public static func async(
    priority: TaskPriority? = nil, _ work: @escaping @Sendable () async throws -> Element
  ) -> Observable<Element> {
    task(priority) { $0.onNext(try await work()) }
  }

  /// The elements of an asynchronous sequence, then completion. If the sequence throws, the stream fails with that error.
  /// Each subscriber iterates the sequence in a task of its own, which asks for the next element once `onNext` has
  /// returned. Disposing cancels the task, which asks for no more elements.
  ///
  ///     from(sequence)   ──a───b──c|
  ///
  /// A sequence that can be iterated only once, such as an `AsyncStream`, is for one subscriber: use ``share(replay:)``
  /// for more.
  public static func from<Elements: AsyncSequence & Sendable>(
    _ sequence: Elements
  ) -> Observable<Element> where Elements.Element == Element {
    task(nil) { observer in
      if Task.isCancelled { return }
      for try await element in sequence {
        observer.onNext(element)
        // Not every sequence looks whether its task is cancelled.
        if Task.isCancelled { return }
      }
    }
  }

  /// What a task sends, then completion, or the error that it throws.
  @usableFromInline
  static func task(
    _ priority: TaskPriority?, _ work: @escaping @Sendable (AnyObserver<Element>) async throws -> Void
  ) -> Observable<Element> {
    create { observer in
      let task = Task(executorPreference: StreamTasks.executor, priority: priority) {
        do {
          try await work(observer)
          observer.onCompleted()
        } catch {
          observer.onError(error)
        }
      }
      return Disposables.create { task.cancel() }
    }
  }
}

/// What tells a stream's tasks that they run in a test's virtual time.
package enum StreamTasks {
  /// Where tasks of streams that are subscribed to here run, so that a test knows when they wait; `nil` for the global
  /// executor.
  @TaskLocal package static var executor: (any TaskExecutor)?
}
