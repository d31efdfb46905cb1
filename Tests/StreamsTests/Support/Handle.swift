import Streams

/// A handle that is known only after `subscribe` returned, for a handler that disposes it.
final class Handle: Sendable {
  private let disposable = Locked<(any Disposable)?>(nil)

  func set(_ disposable: any Disposable) { self.disposable.withLock { $0 = disposable } }

  func dispose() { disposable.withLock { $0 }?.dispose() }
}
