/// Disposes what was put into it when it goes away, or when `dispose()` is called; last in, first out.
///
/// Any thread may use it. Subscriptions that have ended are released as others are added, so a long-lived bag does not
/// grow with the number of subscriptions it has seen. An item put into a bag that was disposed is disposed at once.
public final class DisposeBag: Disposable {
  private let items = Registry()

  /// An empty bag.
  public init() {}

  deinit { items.dispose() }

  /// Takes `disposable` over.
  public func insert(_ disposable: any Disposable) { items.insert(disposable) }

  /// Disposes all that is in the bag, and from now on all that is put into it.
  public func dispose() { items.dispose() }
}

extension Disposable {
  /// Puts this into `bag`, which disposes it when the bag goes away.
  public func disposed(by bag: DisposeBag) { bag.insert(self) }
}
