import Foundation
import Streams
import Synchronization

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
