import Foundation
import Streams

/// Runs whatever may be user code, away from the loop, on as few threads as keep it moving.
///
/// Waking a thread costs more than everything else that a short response takes. So if a task awaits the response, the
/// work runs on that task, which is woken anyway; otherwise a single worker continues for as long as there is something
/// to do, and gets all that one turn of the loop brings at once. Jobs that have not begun after `patience`, because an
/// observer blocks or all threads for tasks are busy, are also given to other workers, so that nothing holds up the
/// rest for long.
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
