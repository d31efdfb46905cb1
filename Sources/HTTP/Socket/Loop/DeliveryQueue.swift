import Foundation
import Streams

/// Runs what may be user code, away from the loop, on as few threads as keep it moving.
///
/// Waking a thread costs more than all else that a short answer takes. So where a task awaits an answer, the work is that
/// task's, which is woken anyway; else one worker goes on for as long as there is something to do; and what one turn of
/// the loop brings is handed over at once. Whatever has not begun after `patience`, as an observer blocks, or all of the
/// tasks' threads are busy, goes to other workers as well: nobody holds up others for long.
///
/// Belongs to the loop's thread. Nothing that is called while a list is changed comes back here, so that accesses need no
/// check for overlaps.
final class DeliveryQueue {
  /// How long a job may wait before it goes to another worker; twice that at most.
  static let patience = Duration.milliseconds(5)

  private let unfinished: DispatchGroup
  @exclusivity(unchecked) private var worker = DispatchQueue.unshared()
  @exclusivity(unchecked) private var collected: [Delivery] = []
  // Handed over, and not begun when last seen: since the last turn, and before it.
  @exclusivity(unchecked) private var young: [Delivery] = []
  @exclusivity(unchecked) private var old: [Delivery] = []
  private let late: LateDeliveries
  private var lastTurn = Instant.now

  /// Each job is a part of the group until it has run. `start` makes a worker for those that are late.
  init(
    unfinished: DispatchGroup, start: @escaping LateDeliveries.Start = { DispatchQueue.unshared().async(execute: $0) }
  ) {
    self.unfinished = unfinished
    late = LateDeliveries(start)
  }

  /// Runs a job after the next `flush`, by the task that the mailbox is of where there is one.
  func add(_ mailbox: TaskMailbox?, _ action: @escaping @Sendable () -> Void) {
    collected.append(Delivery(mailbox, unfinished, action))
  }

  /// Hands over what was added, and sees after what was handed over earlier; where some of it waits, this is to be called
  /// again at the time that it gives.
  func flush() -> Instant? {
    if !collected.isEmpty { handOver() }
    guard !young.isEmpty || !old.isEmpty || !late.isEmpty else { return nil }
    let now = Instant.now
    if now - lastTurn >= Self.patience {
      let waiting = old.filter(\.isWaiting)
      late.add(waiting)
      // A worker that is held up keeps what it has; what comes goes to a new one.
      if !waiting.isEmpty { worker = .unshared() }
      late.startWorkers()
      old = young.filter(\.isWaiting)
      young.removeAll(keepingCapacity: true)
      lastTurn = now
    }
    return lastTurn + Self.patience
  }

  /// Hands over everything, for nobody looks after it from now on.
  func close() {
    late.add(collected + young + old)
    late.startWorkerForEach()
  }

  private func handOver() {
    let forWorker = collected.filter { job in !(job.mailbox?.submit(job) ?? false) }
    young += collected
    collected.removeAll(keepingCapacity: true)
    guard !forWorker.isEmpty else { return }
    worker.async { for job in forWorker { job.run() } }
  }
}
