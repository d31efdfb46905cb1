/// One child at a time: the current attempt, the current timer.
@usableFromInline
final class Slot: Node, @unchecked Sendable {
  private let state = Guarded<(item: (any Disposable)?, isDisposed: Bool)>((nil, false))

  @usableFromInline override init() {}

  /// Replaces the previous item, which has ended. An item that has already ended on another thread is ignored, since
  /// its successor may be here by now.
  @usableFromInline func set(_ item: any Disposable) {
    if item.hasEnded { return }
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
