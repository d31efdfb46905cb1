import HTTPClientCore
import Streams
import SystemBase

/// Keeps the waiting entries, and notifies the watchers of an outbox: observers of its changes and stores that show it,
/// and after them submitters.
///
/// A change is posted to all watchers under a lock, and so in the same order. They are called without it, on threads
/// that may block: one that stalls stops itself alone, and gets what it has missed, in order, when it returns.
final class OutboxPublisher<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  typealias Entry = OutboxEntry<Mutation>
  typealias Change = OutboxChange<Mutation, Response>
  typealias Watcher = OutboxWatcher<Mutation, Response>

  private let state = Locked(State())
  private let runner = EffectRunner()

  /// Notifies all watchers of a change.
  /// - Parameter forStores: What stores are notified of instead: why the server has refused a withdrawn entry, say.
  func report(_ change: Change, forStores: Change? = nil) { perform { $0.report(change, forStores: forStores) } }

  /// Lets the stores that show the outbox know that the server has refused the account, while an entry waits.
  func report(refusal: RequestError) { perform { $0.report(refusal) } }

  /// Calls a submitter, after what was reported before.
  func answer(_ action: @escaping @Sendable () -> Void) { perform { $0.effects.append(.answer(action)) } }

  /// Returns when all stores that show an entry have written its response, or are no longer watching.
  func write(_ response: Response, of entry: Entry) async {
    await withCheckedContinuation { continuation in
      perform { state in
        state.write(response, of: entry) { store in
          self.perform { $0.endWriting(entry.name, store) }
        } completion: {
          continuation.resume()
        }
      }
    }
  }

  /// Adds a watcher, and notifies it of the waiting entries on this thread.
  func add(_ watcher: Watcher) {
    state.withLock { $0.add(watcher) }
    watcher.deliver()
  }

  func remove(_ id: UInt64) { perform { $0.remove(id) } }

  /// The account is signed out, or the outbox is closed or released: watchers complete, and submitters are still
  /// called.
  func end() { perform { $0.end() } }

  /// Returns when all that was reported before has been delivered, but to those that stall.
  func delivered() async {
    await withCheckedContinuation { continuation in perform { $0.effects.append(.call { continuation.resume() }) } }
  }

  /// Returns when stores show what was reported before, but those that stall; at once if none shows the outbox.
  func shown() async {
    if state.withLock({ $0.watchers.contains(where: \.isStore) }) { await delivered() }
  }

  private func perform(_ change: (inout State) -> Void) {
    let (effects, garbage) = state.withLockUnchecked { state in
      change(&state)
      return (exchange(&state.effects, with: []), exchange(&state.garbage, with: []))
    }
    // Released outside the lock.
    withExtendedLifetime(garbage) {}
    runner.enqueue(effects.map(\.action))
  }
}

extension OutboxPublisher {
  /// What to do once the lock is released.
  private enum Effect: Sendable {
    case deliver(Watcher)
    case answer(@Sendable () -> Void)
    case call(@Sendable () -> Void)

    var action: EffectRunner.Action {
      switch self {
      case .deliver(let watcher): EffectRunner.Action(mayStall: true) { watcher.deliver() }
      case .answer(let action): EffectRunner.Action(mayStall: true, run: action)
      case .call(let action): EffectRunner.Action(mayStall: false, run: action)
      }
    }
  }

  /// The publisher without locks and threads: methods change it, and collect the effects to carry out afterwards.
  private struct State {
    private var waiting: [OutboxFileName: Entry] = [:]
    private(set) var watchers: [Watcher] = []
    /// The response that stores are writing: those that have not finished, and what follows when all have.
    private var writing: (name: OutboxFileName, stores: Set<UInt64>, completion: @Sendable () -> Void)?
    private var isOver = false
    var effects: [Effect] = []
    /// What is released after the lock is: its last release may run the user's code.
    var garbage: [any Sendable] = []

    mutating func report(_ change: Change, forStores: Change?) {
      if case .added(let entry) = change, !isOver {
        garbage.append(waiting.updateValue(entry, forKey: entry.name))
      } else {
        garbage.append(waiting.removeValue(forKey: change.entry.name))
      }
      // Stores have the response.
      let isSent = if case .sent = change { true } else { false }
      for watcher in watchers where !(isSent && watcher.isStore) {
        post(.change(watcher.isStore ? forStores ?? change : change, done: {}), to: watcher)
      }
    }

    mutating func report(_ refusal: RequestError) {
      for watcher in watchers where watcher.isStore { post(.refusal(refusal), to: watcher) }
    }

    mutating func write(
      _ response: Response, of entry: Entry, didWrite: @escaping @Sendable (_ store: UInt64) -> Void,
      completion: @escaping @Sendable () -> Void
    ) {
      // A store that comes later reads values that have the change.
      garbage.append(waiting.removeValue(forKey: entry.name))
      let stores = watchers.filter(\.isStore)
      if stores.isEmpty { return effects.append(.call(completion)) }
      writing = (entry.name, Set(stores.map(\.id)), completion)
      for store in stores { post(.change(.sent(entry, response)) { didWrite(store.id) }, to: store) }
    }

    /// A store has written the response for the entry of this name.
    mutating func endWriting(_ name: OutboxFileName, _ store: UInt64) {
      if writing?.name == name { endWriting(store) }
    }

    private mutating func endWriting(_ store: UInt64) {
      guard writing?.stores.remove(store) != nil, writing?.stores.isEmpty == true else { return }
      if let written = exchange(&writing, with: nil) { effects.append(.call(written.completion)) }
    }

    mutating func add(_ watcher: Watcher) {
      if isOver { return watcher.post(.end) }
      watchers.append(watcher)
      for (_, entry) in waiting.sorted(by: { $0.key < $1.key }) { watcher.post(.change(.added(entry), done: {})) }
    }

    mutating func remove(_ id: UInt64) {
      guard let place = watchers.firstIndex(where: { $0.id == id }) else { return }
      let watcher = watchers.remove(at: place)
      garbage.append((watcher, watcher.dropAll()))
      endWriting(id)
    }

    mutating func end() {
      isOver = true
      for watcher in watchers { post(.end, to: watcher) }
      garbage.append((exchange(&waiting, with: [:]), exchange(&watchers, with: [])))
      if let written = exchange(&writing, with: nil) { effects.append(.call(written.completion)) }
    }

    private mutating func post(_ letter: Watcher.Letter, to watcher: Watcher) {
      watcher.post(letter)
      effects.append(.deliver(watcher))
    }
  }
}

/// What is notified of an outbox's changes, all of them and in their order.
final class OutboxWatcher<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  enum Letter: Sendable {
    case change(OutboxChange<Mutation, Response>, done: @Sendable () -> Void)
    /// The server has refused the account; the entry waits.
    case refusal(RequestError)
    case end
  }

  /// What is called after the next letter may be delivered.
  typealias Deliveries = @Sendable () -> Void

  let id: UInt64
  /// Whether it makes responses a part of its values, and calls `done` when that is on disk.
  let isStore: Bool
  private let onChange:
    @Sendable (OutboxChange<Mutation, Response>, _ done: @escaping @Sendable () -> Void) -> Deliveries
  private let onRefusal: @Sendable (RequestError) -> Deliveries
  private let onCompleted: @Sendable () -> Deliveries
  private let mailbox = Mailbox(Fifo<Letter>())

  init(
    id: UInt64, isStore: Bool,
    onChange:
      @escaping @Sendable (OutboxChange<Mutation, Response>, _ done: @escaping @Sendable () -> Void) -> Deliveries,
    onRefusal: @escaping @Sendable (RequestError) -> Deliveries = { _ in {} },
    onCompleted: @escaping @Sendable () -> Deliveries
  ) {
    self.id = id
    self.isStore = isStore
    self.onChange = onChange
    self.onRefusal = onRefusal
    self.onCompleted = onCompleted
  }

  func post(_ letter: Letter) { mailbox.post { $0.append(letter) } }

  /// Delivers what waits, unless another thread is doing so: that one then delivers it.
  func deliver() {
    var deliveries: Deliveries?
    while mailbox.deliver(
      { $0.popFirst() },
      to: { letter in
        deliveries =
          switch letter {
          case .change(let change, let done): onChange(change, done)
          case .refusal(let error): onRefusal(error)
          case .end: onCompleted()
          }
      })
    {
      deliveries.take()?()
    }
  }

  /// Takes out what was not delivered.
  func dropAll() -> any Sendable { mailbox.post { exchange(&$0, with: Fifo()) } }
}
