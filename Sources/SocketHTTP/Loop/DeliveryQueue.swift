import Dispatch
import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// A closure that runs once, on whichever thread is first to run it.
///
/// `@unchecked Sendable`: only the thread that sets `hasBegun` uses `action`.
final class Delivery: TaskMailbox.Job, @unchecked Sendable {
  /// The mailbox of the task that awaits the result, if there is one.
  let mailbox: TaskMailbox?
  private let unfinished: DispatchGroup
  private var action: (@Sendable () -> Void)?
  private let hasBegun = Atomic<Bool>(false)

  /// Enters the group, and leaves it when the closure has run, or is dropped.
  init(_ mailbox: TaskMailbox?, _ unfinished: DispatchGroup, _ action: @escaping @Sendable () -> Void) {
    self.mailbox = mailbox
    self.unfinished = unfinished
    self.action = action
    unfinished.enter()
  }

  deinit {
    // Releasing a group that has not been left would crash the process.
    if isWaiting { unfinished.leave() }
  }

  var isWaiting: Bool { !hasBegun.load(ordering: .relaxed) }

  func run() {
    guard !hasBegun.exchange(true, ordering: .acquiringAndReleasing) else { return }
    action.take()?()
    unfinished.leave()
  }
}

/// Runs whatever may be user code, away from the loop, on as few threads as keep it moving.
///
/// Waking a thread costs more than everything else that a short response takes. So if a task awaits the response, the
/// work runs on that task, which is woken anyway; otherwise a single worker continues for as long as there is something
/// to do, and gets all that one turn of the loop brings at once. Jobs that have not begun after `patience`, because an
/// observer blocks or all threads for tasks are busy, are also given to other workers, so that nothing blocks the rest
/// for long.
///
/// Used only on the loop's thread. Nothing that is called while a list is being changed uses this object, so the checks
/// for overlapping accesses are off.
final class DeliveryQueue {
  /// After how long a job that has not begun is given to another worker; it may take up to twice as long.
  static let patience = Duration.milliseconds(5)

  private let unfinished: DispatchGroup
  @exclusivity(unchecked) private var worker = DeliveryWorker()
  @exclusivity(unchecked) private var collected: [Delivery] = []
  // Jobs that were handed over, and had not begun when last checked: since the last check, and before it.
  @exclusivity(unchecked) private var young: [Delivery] = []
  @exclusivity(unchecked) private var old: [Delivery] = []
  private let late: LateDeliveries
  private var lastTurn = Instant.now

  /// Each job is in the group until it has run. `start` starts a worker for late jobs.
  init(unfinished: DispatchGroup, start: @escaping LateDeliveries.Start = { ThreadPool.shared.run($0) }) {
    self.unfinished = unfinished
    late = LateDeliveries(start)
  }

  /// Runs a job after the next `flush`: on the task that the mailbox belongs to, if there is one, otherwise on a
  /// worker.
  func add(_ mailbox: TaskMailbox?, _ action: @escaping @Sendable () -> Void) {
    collected.append(Delivery(mailbox, unfinished, action))
  }

  /// Hands over the jobs that were added, and checks those that were handed over earlier. While some of them wait, this
  /// returns the time at which to call it again.
  func flush() -> Instant? {
    if !collected.isEmpty { handOver() }
    guard !young.isEmpty || !old.isEmpty || !late.isEmpty else { return nil }
    let now = Instant.now
    if now - lastTurn >= Self.patience {
      let waiting = old.filter(\.isWaiting)
      late.add(waiting)
      // A blocked worker keeps its jobs; new ones go to a new worker.
      if !waiting.isEmpty { worker = DeliveryWorker() }
      late.startWorkers()
      old = young.filter(\.isWaiting)
      young.removeAll(keepingCapacity: true)
      lastTurn = now
    }
    return lastTurn + Self.patience
  }

  /// Hands over everything; no more checks will follow.
  func close() {
    late.add(collected + young + old)
    late.startWorkerForEach()
  }

  private func handOver() {
    let forWorker = collected.filter { job in !(job.mailbox?.submit(job) ?? false) }
    young += collected
    collected.removeAll(keepingCapacity: true)
    guard !forWorker.isEmpty else { return }
    worker.add(forWorker)
  }
}

/// Runs deliveries one after the other, on a thread that it has only while there are some.
final class DeliveryWorker: Sendable {
  private struct State {
    var deliveries: [Delivery] = []
    var isRunning = false
  }

  private let state = Locked(State())

  /// Runs deliveries after those that were added before.
  func add(_ deliveries: [Delivery]) {
    let isFirst = state.withLock { state in
      state.deliveries += deliveries
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { ThreadPool.shared.run { [self] in work() } }
  }

  private func work() {
    while true {
      let deliveries = state.withLock { state in
        state.isRunning = !state.deliveries.isEmpty
        return exchange(&state.deliveries, with: [])
      }
      if deliveries.isEmpty { return }
      for delivery in deliveries { delivery.run() }
    }
  }
}

/// Deliveries that have waited too long, in order, and the workers that run them: a free worker takes the next one.
///
/// A busy machine can have hundreds of late deliveries, so the number of workers is limited: a few at first, and twice
/// as many each time that all of these have begun and deliveries still wait. With 256 requests in flight and other
/// processes on all cores, this takes 13 threads where a worker for each takes 106, and a quarter less processor time.
final class LateDeliveries: Sendable {
  typealias Start = @Sendable (@escaping @Sendable () -> Void) -> Void

  private struct State {
    var deliveries = Fifo<Delivery>()
    /// Workers that were started, but have not begun.
    var starting = 0
    var next = LateDeliveries.fewestWorkers
  }

  private static let fewestWorkers = 4
  /// How many workers are started at a time at most.
  private static let mostWorkers = 256
  private let state = Locked(State())
  private let start: Start

  /// Takes a function that runs a closure on a thread of its own, which may block.
  init(_ start: @escaping Start) {
    self.start = start
  }

  var isEmpty: Bool { state.withLock { $0.deliveries.isEmpty } }

  func add(_ deliveries: [Delivery]) {
    guard !deliveries.isEmpty else { return }
    state.withLock { state in
      for delivery in deliveries { state.deliveries.append(delivery) }
    }
  }

  /// Starts workers if those started before do not suffice. To be called from time to time.
  func startWorkers() {
    startWorkers { state in
      guard !state.deliveries.isEmpty else {
        state.next = Self.fewestWorkers
        return 0
      }
      // A worker that has yet to begin will take what there is.
      guard state.starting == 0 else { return 0 }
      defer { state.next = min(2 * state.next, Self.mostWorkers) }
      return min(state.next, state.deliveries.count)
    }
  }

  /// Starts a worker for each delivery.
  func startWorkerForEach() {
    startWorkers { $0.deliveries.count }
  }

  private func startWorkers(_ count: (inout State) -> Int) {
    let count = state.withLock { state in
      let count = count(&state)
      state.starting += count
      return count
    }
    for _ in 0..<count { start { [self] in work() } }
  }

  private func work() {
    state.withLock { $0.starting -= 1 }
    while let delivery = state.withLock({ $0.deliveries.popFirst() }) { delivery.run() }
  }
}
