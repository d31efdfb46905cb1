public import HTTPClientCore
public import Streams
import SystemBase

/// Limits how many requests to an origin are in flight. Further requests wait in line, first come, first served; if the
/// line is full, they fail at once with `overloaded`.
///
/// A request is in flight from its start until it ends or is disposed. A request that has waited continues on the
/// scheduler with what is left of its total deadline; if that passes first, it fails with `timedOut`. Place this
/// middleware inside a ``RetryMiddleware``, so that a request takes up no place while it pauses between attempts.
/// Copies share their places. It keeps at most 1,024 origins; those that were not used for longest are forgotten, and
/// requests in flight there are no longer counted.
public struct ConcurrencyLimitMiddleware: HTTPMiddleware {
  package final class Decider: Sendable {
    let limit: Int
    let queueLimit: Int
    let scheduler: any Scheduler
    let gates: OriginTable<SlotGate>

    init(_ limit: Int, _ queueLimit: Int, _ scheduler: any Scheduler) {
      self.limit = limit
      self.queueLimit = queueLimit
      self.scheduler = scheduler
      gates = OriginTable { SlotGate(Slots(limit: limit, queueLimit: queueLimit), scheduler) }
    }
  }

  package let decider: Decider

  /// Takes how many requests may be in flight, at least 1, how many may wait, and the scheduler on which waiting
  /// requests continue.
  public init(_ limit: Int, queueLimit: Int = 1000, scheduler: some Scheduler = ConcurrentScheduler()) {
    decider = Decider(limit, queueLimit, scheduler)
  }

  /// Passes the request on, at once or when it is its turn.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    deciding(on: request, next: next)
  }
}

extension ConcurrencyLimitMiddleware: DecidingMiddleware {}

extension ConcurrencyLimitMiddleware.Decider: RequestDecider {
  package func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) -> (any RequestPassage)? {
    let gate = gates.withValue(of: request.origin) { $0 }
    return gate.takeFreeSlot() ? SlotPassage(gate) : LinePassage(request, at: gate, by: self)
  }

  fileprivate func timeout(of request: HTTPRequest) -> RequestError {
    RequestError(
      .timedOut, "The request's time was over before it was its turn: try again later, or allow more time.",
      operationName: request.operationName)
  }

  fileprivate func refusal(of request: HTTPRequest) -> RequestError {
    RequestError(
      .overloaded, "\(limit) requests to '\(request.origin)' are in flight, and \(queueLimit) wait: try again later.",
      operationName: request.operationName)
  }
}

/// A request that has found a free slot, which it gives back in the end.
private final class SlotPassage: RequestPassage {
  private let gate: SlotGate

  init(_ gate: SlotGate) { self.gate = gate }

  func depart() -> Departure { .unchanged }

  func leave() { gate.giveBack() }
}

/// A request that waits in line.
private final class LinePassage: RequestPassage {
  private let request: HTTPRequest
  private let gate: SlotGate
  private let decider: ConcurrencyLimitMiddleware.Decider
  private let place = Locked<(entry: SlotGate.Entry?, isOver: Bool)>((nil, false))

  init(_ request: HTTPRequest, at gate: SlotGate, by decider: ConcurrencyLimitMiddleware.Decider) {
    self.request = request
    self.gate = gate
    self.decider = decider
  }

  func depart() -> Departure {
    .later(
      .create { [self] observer in
        let start = decider.scheduler.now
        let entry = gate.enter { [self] hasWaited in
          var request = request
          let wait = decider.scheduler.now - start
          request.timeouts = request.timeouts.after(wait)
          if hasWaited { request.context.observation?.report(.dequeued(after: wait)) }
          observer.onNext(request)
        }
        guard let entry else {
          observer.onError(decider.refusal(of: request))
          return Disposables.create()
        }
        keep(entry)
        guard entry.isWaiting, let total = request.timeouts.total else { return Disposables.create() }
        return decider.scheduler.schedule(after: total) { [self] in
          if entry.isWaiting { observer.onError(decider.timeout(of: request)) }
        }
      })
  }

  /// Its turn, and its end, may have come before the entry is known here.
  private func keep(_ entry: SlotGate.Entry) {
    let isOver = place.withLock { place in
      if !place.isOver { place.entry = entry }
      return place.isOver
    }
    if isOver { gate.leave(entry) }
  }

  func leave() {
    let entry = place.withLock { place in
      place.isOver = true
      // It refers to this passage.
      return exchange(&place.entry, with: nil)
    }
    if let entry { gate.leave(entry) }
  }
}

/// The slots of one origin behind a lock.
final class SlotGate: Sendable {
  /// A request's place, in line or in flight.
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
    let (entry, turn) = state.withLock { state in
      state.nextID += 1
      let entry = Entry(state.nextID, run)
      return (entry, state.slots.enter(entry.id, entry))
    }
    switch turn {
    case .refused: return nil
    case .wait: break
    case .go: start(entry, hasWaited: false)
    }
    return entry
  }

  /// Gives up a place, in line or in flight.
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

  /// Gives back a slot, to the next request in the queue.
  @Sendable func giveBack() {
    guard let next = state.withLock({ $0.slots.leave() }) else { return }
    // Not on this stack: if exchanges end at once, it would grow with the length of the line.
    _ = scheduler.schedule { self.start(next, hasWaited: true) }
  }
}

/// Which requests may go and which wait, first come, first served: pure, without locks.
struct Slots<Waiter: Sendable>: Sendable {
  enum Entry: Hashable, Sendable {
    case go, wait, refused
  }

  private let limit: Int
  private let queueLimit: Int
  private var taken = 0
  private var waiters: [UInt64: Waiter] = [:]
  private var order = Fifo<UInt64>()

  /// How many places the line takes up, left ones included.
  var lineLength: Int { order.count }

  init(limit: Int, queueLimit: Int) {
    self.limit = max(limit, 1)
    self.queueLimit = max(queueLimit, 0)
  }

  /// Takes a slot; returns false if all are taken.
  mutating func takeFree() -> Bool {
    guard taken < limit else { return false }
    taken += 1
    return true
  }

  /// Gives a slot or a place in line, or refuses.
  mutating func enter(_ id: UInt64, _ waiter: Waiter) -> Entry {
    if takeFree() { return .go }
    guard waiters.count < queueLimit else { return .refused }
    waiters[id] = waiter
    order.append(id)
    return .wait
  }

  /// Gives one slot back, and returns the next waiter, which now has it.
  mutating func leave() -> Waiter? {
    while let id = order.popFirst() {
      if let waiter = waiters.removeValue(forKey: id) { return waiter }
    }
    taken -= 1
    return nil
  }

  /// Takes a waiter out of the line; returns false if it is no longer there, and may have a slot.
  mutating func abandon(_ id: UInt64) -> Bool {
    guard waiters.removeValue(forKey: id) != nil else { return false }
    order.compact(to: waiters.count) { waiters[$0] != nil }
    return true
  }
}
