import Streams

/// A scheduler that runs at once what is to wait, too.
struct Hasty: Scheduler {
  var now: Duration { .zero }

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return Disposables.create()
  }

  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(action) }
}
