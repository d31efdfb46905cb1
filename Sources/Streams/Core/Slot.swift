/// The child of something that has one at a time: the present attempt, the present timer.
@usableFromInline
final class Slot: Node, @unchecked Sendable {
  private let state = Guarded<(item: (any Disposable)?, isDisposed: Bool)>((nil, false))

  @usableFromInline override init() {}

  /// Puts `item` in the place of the one before, which is over. One that is over itself, as its thread was faster, is not
  /// put in the place of what may have followed it.
  @usableFromInline func set(_ item: any Disposable) {
    if (item as? Lifetime)?.isClosed ?? false { return }
    let (isDisposed, old) = state.withLock { state -> (Bool, (any Disposable)?) in
      state.isDisposed ? (true, nil) : (false, exchange(&state.item, with: item))
    }
    if isDisposed { item.dispose() }
    _ = old
  }

  /// A new segment that ends with this slot at the latest.
  @usableFromInline func child() -> Segment {
    let segment = Segment()
    set(segment)
    return segment
  }

  @usableFromInline override func run() {
    state.withLock { state in
      state.isDisposed = true
      return exchange(&state.item, with: nil)
    }?.dispose()
  }
}
