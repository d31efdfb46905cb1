import SystemBase

/// Any number of children over time. Finished ones are removed as others are added, so the number of entries is at most
/// twice that of live children, or 16.
@usableFromInline
final class Registry: Node, Disposable, @unchecked Sendable {
  private struct State {
    var items: [any Disposable] = []
    var limit = 16
    var isDisposed = false
  }

  private let state = Locked(State())

  @usableFromInline override init() {}

  @usableFromInline func insert(_ item: any Disposable) {
    // A stream that ended while it was subscribed to is not kept at all.
    if type(of: item) == NoDisposable.self || item.hasEnded { return }
    // Removed items are released after the lock: their deinit may run foreign code.
    let (isDisposed, swept) = state.withLock { state -> (Bool, [any Disposable]) in
      if state.isDisposed { return (true, []) }
      var swept: [any Disposable] = []
      if state.items.count >= state.limit {
        swept = state.items
        state.items = swept.filter { !$0.hasEnded }
        state.limit = max(16, state.items.count * 2)
      }
      state.items.append(item)
      return (false, swept)
    }
    if isDisposed { item.dispose() }
    withExtendedLifetime(swept) {}
  }

  /// A new segment that ends with this registry at the latest.
  @usableFromInline func child() -> Segment {
    let segment = Segment()
    insert(segment)
    return segment
  }

  var isDisposed: Bool { state.withLock { $0.isDisposed } }

  @usableFromInline func dispose() {
    let items = state.withLock { state in
      state.isDisposed = true
      return exchange(&state.items, with: [])
    }
    for item in items.reversed() { item.dispose() }
  }

  @usableFromInline override func run() { dispose() }
}

/// One child at a time: the current attempt, the current timer.
@usableFromInline
final class Slot: Node, @unchecked Sendable {
  private let state = Locked<(item: (any Disposable)?, isDisposed: Bool)>((nil, false))

  @usableFromInline override init() {}

  /// Replaces the previous item, which has ended. An item that has already ended on another thread is ignored, since
  /// its successor may be here by now.
  @usableFromInline func set(_ item: any Disposable) {
    if item.hasEnded { return }
    let (isDisposed, old) = state.withLock { state -> (Bool, (any Disposable)?) in
      state.isDisposed ? (true, nil) : (false, exchange(&state.item, with: item))
    }
    if isDisposed { item.dispose() }
    withExtendedLifetime(old) {}
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
