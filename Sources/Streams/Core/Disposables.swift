/// Makes disposables.
public enum Disposables {
  /// One that does nothing.
  @inlinable public static func create() -> any Disposable { NoDisposable() }

  /// One that runs `dispose` once, on the thread that disposes it, and releases it then.
  public static func create(with dispose: @escaping @Sendable () -> Void) -> any Disposable {
    let lifetime = Lifetime()
    lifetime.add(ClosureNode(dispose))
    return lifetime
  }

  /// One that disposes all of `disposables`, last first.
  public static func create(_ disposables: any Disposable...) -> any Disposable { create(disposables) }

  /// One that disposes all of `disposables`, last first.
  public static func create(_ disposables: [any Disposable]) -> any Disposable {
    let lifetime = Lifetime()
    for disposable in disposables { lifetime.insert(disposable) }
    return lifetime
  }
}
