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

/// Makes disposables.
public enum Disposables {
  /// A disposable that does nothing.
  @inlinable public static func create() -> any Disposable { NoDisposable() }

  /// A disposable that runs `dispose` once, on the thread that disposes it, and then releases it.
  public static func create(with dispose: @escaping @Sendable () -> Void) -> any Disposable {
    let lifetime = Lifetime()
    lifetime.add(ClosureNode(dispose))
    return lifetime
  }

  /// A disposable that disposes all of `disposables`, last first.
  public static func create(_ disposables: any Disposable...) -> any Disposable { create(disposables) }

  /// A disposable that disposes all of `disposables`, last first.
  public static func create(_ disposables: [any Disposable]) -> any Disposable {
    let lifetime = Lifetime()
    for disposable in disposables { lifetime.insert(disposable) }
    return lifetime
  }
}

@usableFromInline
struct NoDisposable: Disposable {
  @usableFromInline init() {}
  @usableFromInline func dispose() {}
}

/// Disposes its contents when it goes away, or when `dispose()` is called; last in, first out.
///
/// Thread-safe. Subscriptions that have ended are released as others are added, so a long-lived bag does not grow with
/// the number of subscriptions it has seen. An item that is put into a disposed bag is disposed at once.
public final class DisposeBag: Disposable {
  private let items = Registry()

  /// An empty bag.
  public init() {}

  deinit { items.dispose() }

  /// Whether `dispose()` has been called.
  package var isDisposed: Bool { items.isDisposed }

  /// Puts `disposable` into the bag.
  public func insert(_ disposable: any Disposable) { items.insert(disposable) }

  /// Disposes everything in the bag, and everything that is put into it from now on.
  public func dispose() { items.dispose() }
}

extension Disposable {
  /// Puts this into `bag`, which disposes it when the bag goes away.
  public func disposed(by bag: DisposeBag) { bag.insert(self) }
}
