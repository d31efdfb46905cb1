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
