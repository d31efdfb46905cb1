/// Something that can be ended early: a subscription, a timer, a request under way.
///
/// `dispose()` may be called from any thread and any number of times; only the first call does anything. It sends no
/// event. When it is called on the thread that is delivering an event, no handler of the subscription is called after
/// it returns, though closures of operators above the handler may still be; when it is called on another thread, at
/// most the call in flight still finishes.
///
/// Dropping a `Disposable` does **not** dispose it. A ``DisposeBag`` that goes away does.
public protocol Disposable: Sendable {
  /// Ends what this stands for, and releases all that it holds.
  func dispose()
}
