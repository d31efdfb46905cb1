import Streams

/// Carries out what follows from changes of a store's state: each change's effects in their order, one after the other.
///
/// The thread that has changed the state does so itself. If a watcher does not return from its snapshot within some
/// milliseconds, another thread takes over the effects that are left: so a watcher that stalls stops the thread that has
/// called it, and no other watcher, reader, request or write; and so does a reader. It takes one thread at most, however much is written, since
/// it is not called while it stalls.
final class EffectRunner<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Effect = StoreState<Key, Value>.Effect

  /// The effects of one change that are left, the last one first.
  fileprivate struct Batch {
    var rest: [Effect]
    let carryOut: @Sendable (Effect) -> Void
    /// The thread that carries them out; the one before it has stalled.
    var worker = 0
    /// How many effects were begun, and how many the last time that was looked.
    var count = 0
    var lastCount = 0
    /// Whether what was begun last is the call of a watcher, or of a reader.
    var isDelivering = false
  }

  fileprivate struct State {
    var batches: [UInt64: Batch] = [:]
    var lastNumber: UInt64 = 0
    var isWatched = false
  }

  private static var patience: Duration { .milliseconds(10) }

  private let state = Locked(State())

  func run(_ effects: [Effect], by carryOut: @escaping @Sendable (Effect) -> Void) {
    // Most changes have no watcher, or one, and nothing after it.
    let isSimple = effects.dropLast().allSatisfy { !$0.isDelivery } && effects.last?.watchers.count ?? 0 < 2
    if isSimple { return effects.forEach(carryOut) }
    var rest: [Effect] = []
    for effect in effects.reversed() {
      if case .deliver(let watchers) = effect {
        for watcher in watchers.reversed() { rest.append(.deliver([watcher])) }
      } else {
        rest.append(effect)
      }
    }
    let number = state.withLock { state in
      state.lastNumber += 1
      state.batches[state.lastNumber] = Batch(rest: rest, carryOut: carryOut)
      return state.lastNumber
    }
    watch()
    run(number, as: 0, carryOut)
  }

  /// Gives readers their result.
  static func answer(
    _ waiters: [Fetch<Key, Value>.Waiter], _ result: Result<KeyState<Key, Value>, any Error>
  ) {
    let answers = waiters.map { waiter in Effect.answer { waiter.completion(result) } }
    EffectRunner().run(answers) { if case .answer(let action) = $0 { action() } }
  }

  private func run(_ number: UInt64, as worker: Int, _ carryOut: @Sendable (Effect) -> Void) {
    while let effect = state.withLock({ $0.next(number, for: worker) }) { carryOut(effect) }
  }

  private func watch() {
    if state.withLock({ exchange(&$0.isWatched, with: true) }) { return }
    _ = ElasticScheduler().schedule(after: Self.patience) { self.look() }
  }

  private func look() {
    let (stalled, isOver) = state.withLock { state -> ([(UInt64, Batch)], Bool) in
      var stalled: [(UInt64, Batch)] = []
      for (number, batch) in state.batches {
        var batch = batch
        if batch.isDelivering, batch.count == batch.lastCount {
          batch.worker += 1
          batch.isDelivering = false
          stalled.append((number, batch))
        }
        batch.lastCount = batch.count
        state.batches[number] = batch
      }
      state.isWatched = false
      return (stalled, state.batches.isEmpty)
    }
    for (number, batch) in stalled {
      _ = ElasticScheduler().schedule { self.run(number, as: batch.worker, batch.carryOut) }
    }
    if !isOver { watch() }
  }
}

/// The effects of a change in several steps.
final class Steps<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let effects = Locked<[StoreState<Key, Value>.Effect]>([])

  func append(_ more: [StoreState<Key, Value>.Effect]) { effects.withLock { $0 += more } }

  func take() -> [StoreState<Key, Value>.Effect] { effects.withLock { exchange(&$0, with: []) } }
}

extension EffectRunner.State {
  fileprivate mutating func next(_ number: UInt64, for worker: Int) -> EffectRunner<Key, Value>.Effect? {
    // Changed in its place: a copy for each effect would take time in proportion to the square of their number.
    guard batches[number]?.worker == worker, let effect = batches[number]?.rest.popLast() else { return nil }
    batches[number]?.count += 1
    batches[number]?.isDelivering = effect.isDelivery
    // The last one may take its time.
    if batches[number]?.rest.isEmpty == true { batches[number] = nil }
    return effect
  }
}

extension StoreState.Effect {
  fileprivate var isDelivery: Bool {
    switch self {
    case .deliver, .answer: true
    case .start, .refetchLater, .sweepLater, .call: false
    }
  }

  fileprivate var watchers: [Watcher<Key, Value>] { if case .deliver(let watchers) = self { watchers } else { [] } }
}
