import Streams

/// The slots of one origin behind a lock.
final class SlotGate: Sendable {
  /// A request's place, in line or under way.
  final class Entry: Sendable {
    fileprivate enum Phase {
      case waiting, running, over
    }

    fileprivate let id: UInt64
    fileprivate let run: @Sendable (_ hasWaited: Bool) -> Void
    fileprivate let phase = Locked(Phase.waiting)

    /// Whether it is still in line.
    var isWaiting: Bool { phase.withLock { $0 == .waiting } }

    fileprivate init(_ id: UInt64, _ run: @escaping @Sendable (Bool) -> Void) {
      self.id = id
      self.run = run
    }
  }

  private let state: Locked<(slots: Slots<Entry>, nextID: UInt64)>
  private let scheduler: any Scheduler

  init(_ slots: Slots<Entry>, _ scheduler: any Scheduler) {
    state = Locked((slots, 0))
    self.scheduler = scheduler
  }

  /// Takes a slot, which must be given back, unless all are taken.
  func takeFreeSlot() -> Bool {
    state.withLock { $0.slots.takeFree() }
  }

  /// Takes a place for `run`, which is called at once if there is a free slot, and otherwise later on the scheduler;
  /// returns `nil` if the line is full.
  func enter(_ run: @escaping @Sendable (_ hasWaited: Bool) -> Void) -> Entry? {
    let (entry, answer) = state.withLock { state in
      state.nextID += 1
      let entry = Entry(state.nextID, run)
      return (entry, state.slots.enter(entry.id, entry))
    }
    switch answer {
    case .refused: return nil
    case .wait: break
    case .go: start(entry, hasWaited: false)
    }
    return entry
  }

  /// Gives up a place, in line or under way.
  func leave(_ entry: Entry) {
    let phase = entry.phase.withLock { phase in
      defer { phase = .over }
      return phase
    }
    switch phase {
    case .running: giveBack()
    case .waiting: _ = state.withLock { $0.slots.abandon(entry.id) }  // with a slot, it is not started
    case .over: break
    }
  }

  /// Starts an entry that has a slot, or gives the slot back if the entry has left.
  private func start(_ entry: Entry, hasWaited: Bool) {
    let isWaiting = entry.phase.withLock { phase in
      guard phase == .waiting else { return false }
      phase = .running
      return true
    }
    if isWaiting { entry.run(hasWaited) } else { giveBack() }
  }

  /// Gives back a slot, to whoever is next in line.
  @Sendable func giveBack() {
    guard let next = state.withLock({ $0.slots.leave() }) else { return }
    // Not on this stack: if exchanges end at once, it would grow with the length of the line.
    _ = scheduler.schedule { self.start(next, hasWaited: true) }
  }
}
