@preconcurrency import Dispatch
import Streams
import SystemBase

/// Carries out what follows from changes of a state, in order and one after the other. Some of these actions call
/// watchers, readers, observers or submitters, which may stall.
///
/// If one does not return within about a tenth of a second, another thread takes over the actions that are left: so what
/// stalls stops the thread that has called it, and no other watcher, reader, request or write. It takes one thread at
/// most, however much is written, if it is called by its ``Mailbox``: it is not called while it stalls.
final class EffectRunner: Sendable {
  struct Action: Sendable {
    /// Whether it calls the user's code, which may not return.
    let mayStall: Bool
    /// Whether it is to be done when the call that has begun it returns.
    var isAwaited = false
    let run: @Sendable () -> Void
  }

  struct Batch {
    fileprivate var rest = Fifo<Action>()
    /// The thread that carries them out; the one before it has stalled.
    fileprivate var worker: UInt64
    /// How many actions were begun, how many at the last look, and at how many looks in a row there were no more.
    fileprivate var count = 0
    fileprivate var lastCount = 0
    fileprivate var idleLooks = 0
    /// Whether the one that was begun last may stall.
    fileprivate var mayStall = false
    /// How many of those that are awaited are not done, whether the one that was begun last is among them, and who waits.
    fileprivate var awaitedCount = 0
    fileprivate var isAwaited = false
    fileprivate var waiting: [DispatchSemaphore] = []
  }

  struct State {
    fileprivate var batches: [UInt64: Batch] = [:]
    /// The batch to which actions are added that are carried out on other threads.
    fileprivate var series: UInt64?
    /// The number of the last batch, or thread.
    fileprivate var lastNumber: UInt64 = 0
    fileprivate var isWatched = false
  }

  /// Of their own, so that those who wait for actions on threads of other pools do not use them up.
  private static let threads = ThreadPool(named: "StoreWorker", limit: 2048, eagerCount: 64)
  private static let clock = ConcurrentScheduler(queue: DispatchQueue(label: "Stores.EffectRunner"))

  /// An action has stalled if it has not returned at so many looks in a row, so far apart. One look after a tenth of a second
  /// would not do: each needs a processor, as the action does, which on a busy machine, or one that stands still for a
  /// moment, may have had none.
  static let mostIdleLooks = 5
  private static let lookInterval = Duration.milliseconds(20)

  private let state = Locked(State())

  /// Carries out actions on this thread, unless one stalls. Those that are awaited are done when this returns.
  func run(_ actions: [Action]) {
    let (number, worker) = state.withLock { $0.begin(actions) }
    watch()
    run(number, as: worker)
    state.withLock { $0.wait(for: number) }?.wait()
  }

  /// Carries out actions on a thread that may block; calls back when all are done but those that stall.
  func runElsewhere(_ actions: [Action], then completion: @escaping @Sendable () -> Void) {
    let (number, worker) = state.withLock { $0.begin(actions + [Action(mayStall: false, run: completion)]) }
    watch()
    Self.threads.run { self.run(number, as: worker) }
  }

  /// Carries out actions on a thread that may block; returns when all are done but those that stall.
  func runElsewhere(_ actions: [Action]) {
    let done = DispatchSemaphore(value: 0)
    runElsewhere(actions) { done.signal() }
    done.wait()
  }

  /// Carries out actions on threads that may block, after all that were given to this before, and have not stalled.
  func enqueue(_ actions: [Action]) {
    if actions.isEmpty { return }
    let begun = state.withLock { state -> (UInt64, UInt64)? in
      if let series = state.series {
        state.batches[series]?.append(actions)
        return nil
      }
      let begun = state.begin(actions)
      state.series = begun.number
      return begun
    }
    watch()
    guard let (number, worker) = begun else { return }
    Self.threads.run { self.run(number, as: worker) }
  }

  private func run(_ number: UInt64, as worker: UInt64) {
    while let action = state.withLock({ $0.next(number, for: worker) }) { action.run() }
  }

  private func watch() {
    if state.withLock({ exchange(&$0.isWatched, with: true) }) { return }
    _ = Self.clock.schedule(after: Self.lookInterval) { self.checkForStalls() }
  }

  private func checkForStalls() {
    let (stalled, isOver) = state.withLock { state in
      let stalled = state.takeStalled()
      state.isWatched = false
      return (stalled, state.batches.isEmpty)
    }
    for (number, worker) in stalled { Self.threads.run { self.run(number, as: worker) } }
    if !isOver { watch() }
  }
}

extension EffectRunner.Batch {
  fileprivate mutating func append(_ actions: [EffectRunner.Action]) {
    for action in actions {
      rest.append(action)
      if action.isAwaited { awaitedCount += 1 }
    }
  }

  /// Counts the action that was begun last as done, if it is awaited.
  fileprivate mutating func noteDone() {
    guard exchange(&isAwaited, with: false) else { return }
    awaitedCount -= 1
    if awaitedCount == 0 { for done in exchange(&waiting, with: []) { done.signal() } }
  }
}

extension EffectRunner.State {
  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  mutating func begin(_ actions: [EffectRunner.Action]) -> (number: UInt64, worker: UInt64) {
    let (number, worker) = (nextNumber(), nextNumber())
    var batch = EffectRunner.Batch(worker: worker)
    batch.append(actions)
    batches[number] = batch
    return (number, worker)
  }

  mutating func next(_ number: UInt64, for worker: UInt64) -> EffectRunner.Action? {
    // Changed in its place: a copy for each action would take time in proportion to the square of their number.
    guard batches[number]?.worker == worker else { return nil }
    batches[number]?.noteDone()
    guard let action = batches[number]?.rest.popFirst() else {
      end(number)
      return nil
    }
    batches[number]?.count += 1
    batches[number]?.mayStall = action.mayStall
    batches[number]?.isAwaited = action.isAwaited
    // The last one may take its time, unless others are to come after it.
    if !action.isAwaited, number != series, batches[number]?.rest.isEmpty == true { end(number) }
    return action
  }

  /// What will be signalled when all actions of a batch are done that are awaited; `nil` if they are.
  fileprivate mutating func wait(for number: UInt64) -> DispatchSemaphore? {
    guard let count = batches[number]?.awaitedCount, count > 0 else { return nil }
    let done = DispatchSemaphore(value: 0)
    batches[number]?.waiting.append(done)
    return done
  }

  private mutating func end(_ number: UInt64) {
    batches[number] = nil
    if number == series { series = nil }
  }

  /// Looks at all batches. Returns those whose thread has stalled, with the ones that take over.
  mutating func takeStalled() -> [(number: UInt64, worker: UInt64)] {
    var stalled: [(UInt64, UInt64)] = []
    for number in Array(batches.keys) {
      guard var batch = batches[number] else { continue }
      batch.idleLooks = batch.mayStall && batch.count == batch.lastCount ? batch.idleLooks + 1 : 0
      if batch.idleLooks == EffectRunner.mostIdleLooks {
        batch.worker = nextNumber()
        batch.mayStall = false
        stalled.append((number, batch.worker))
      }
      batch.lastCount = batch.count
      batches[number] = batch
    }
    return stalled
  }
}
