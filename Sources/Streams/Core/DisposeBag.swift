/// Disposes its contents when it goes away, or when `dispose()` is called; last in, first out.
///
/// Thread-safe. Subscriptions that have ended are released as others are added, so a long-lived bag does not grow with
/// the number of subscriptions it has seen. An item that is put into a disposed bag is disposed at once.
public final class DisposeBag: Disposable {
  private let items = Registry()

  /// An empty bag.
  public init() {}

  deinit { items.dispose() }

  /// Puts `disposable` into the bag.
  public func insert(_ disposable: any Disposable) { items.insert(disposable) }

  /// Disposes everything in the bag, and everything that is put into it from now on.
  public func dispose() { items.dispose() }
}

extension Disposable {
  /// Puts this into `bag`, which disposes it when the bag goes away.
  public func disposed(by bag: DisposeBag) { bag.insert(self) }
}
