/// Something that can be ended early: a subscription, a timer, a running request.
///
/// `dispose()` may be called from any thread and any number of times; only the first call has an effect. It sends no
/// event. On the thread that is delivering an event, no handler of the subscription is called after `dispose()`
/// returns, though closures of operators above the handler may be. On another thread, at most the call in flight still
/// finishes.
///
/// Dropping a `Disposable` does **not** dispose it. Dropping a ``DisposeBag`` disposes its contents.
public protocol Disposable: Sendable {
  /// Ends the work that this stands for, and releases everything that it holds.
  func dispose()
}
