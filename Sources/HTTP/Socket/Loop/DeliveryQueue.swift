import Foundation
import Streams
import Synchronization

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
  /// Something to run once, by whoever comes first.
  ///
  /// `@unchecked Sendable`: `action` is touched by the one alone that turns `hasBegun`.
  private final class Job: TaskMailbox.Job, @unchecked Sendable {
    let mailbox: TaskMailbox?
    private let unfinished: DispatchGroup
    private var action: (@Sendable () -> Void)?
    private let hasBegun = Atomic<Bool>(false)

    init(_ mailbox: TaskMailbox?, _ unfinished: DispatchGroup, _ action: @escaping @Sendable () -> Void) {
      self.mailbox = mailbox
      self.unfinished = unfinished
      self.action = action
      unfinished.enter()
    }

    deinit {
      // A group that goes away with somebody in it ends the process.
      if isWaiting { unfinished.leave() }
    }

    var isWaiting: Bool { !hasBegun.load(ordering: .relaxed) }

    func run() {
      guard !hasBegun.exchange(true, ordering: .acquiringAndReleasing) else { return }
      let action = action
      self.action = nil
      action?()
      unfinished.leave()
    }
  }

  /// How long a job may wait before it goes to another worker; twice that at most.
  static let patience = Duration.milliseconds(5)
  /// How many workers those that are late get at a time: several, as more of them may block; and few, as a machine that is
  /// busy has hundreds.
  private static let workersForLate = 4

  private let unfinished: DispatchGroup
  @exclusivity(unchecked) private var worker = DispatchQueue.unshared()
  @exclusivity(unchecked) private var collected: [Job] = []
  // Handed over, and not begun when last seen: since the last turn, and before it.
  @exclusivity(unchecked) private var young: [Job] = []
  @exclusivity(unchecked) private var old: [Job] = []
  private var lastTurn = Instant.now

  /// Each job is a part of the group until it has run.
  init(unfinished: DispatchGroup) {
    self.unfinished = unfinished
  }

  /// Runs a job after the next `flush`, by the task that the mailbox is of where there is one.
  func add(_ mailbox: TaskMailbox?, _ action: @escaping @Sendable () -> Void) {
    collected.append(Job(mailbox, unfinished, action))
  }

  /// Hands over what was added, and sees after what was handed over earlier; where some of it waits, this is to be called
  /// again at the time that it gives.
  func flush() -> Instant? {
    if !collected.isEmpty { handOver() }
    guard !young.isEmpty || !old.isEmpty else { return nil }
    let now = Instant.now
    if now - lastTurn >= Self.patience {
      let late = old.filter(\.isWaiting)
      runElsewhere(late, workers: Self.workersForLate)
      // A worker that is held up keeps what it has; what comes goes to a new one.
      if !late.isEmpty { worker = .unshared() }
      old = late + young.filter(\.isWaiting)
      young.removeAll(keepingCapacity: true)
      lastTurn = now
    }
    return young.isEmpty && old.isEmpty ? nil : lastTurn + Self.patience
  }

  /// Hands over everything, for nobody looks after it from now on.
  func close() {
    let jobs = collected + young + old
    runElsewhere(jobs, workers: jobs.count)
  }

  private func handOver() {
    let forWorker = collected.filter { job in !(job.mailbox?.submit(job) ?? false) }
    young += collected
    collected.removeAll(keepingCapacity: true)
    guard !forWorker.isEmpty else { return }
    worker.async { for job in forWorker { job.run() } }
  }

  /// Runs jobs on new workers, unless they have begun by then.
  private func runElsewhere(_ jobs: [Job], workers: Int) {
    for first in 0..<min(jobs.count, workers) {
      DispatchQueue.unshared().async {
        for index in stride(from: first, to: jobs.count, by: workers) { jobs[index].run() }
      }
    }
  }
}
