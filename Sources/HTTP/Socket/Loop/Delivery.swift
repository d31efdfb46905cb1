import Foundation
import Streams
import Synchronization

/// Something to run once, by whoever comes first.
///
/// `@unchecked Sendable`: `action` is touched by the one alone that turns `hasBegun`.
final class Delivery: TaskMailbox.Job, @unchecked Sendable {
  /// That of the task that awaits it, where one does.
  let mailbox: TaskMailbox?
  private let unfinished: DispatchGroup
  private var action: (@Sendable () -> Void)?
  private let hasBegun = Atomic<Bool>(false)

  /// It is a part of the group until it has run, or is dropped.
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
