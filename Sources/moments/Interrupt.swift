import Dispatch
import Foundation
import HTTP

/// Handles Ctrl-C: cancels the task under way, or ends the process if there is none.
final class Interrupt: Sendable {
  private let cancel = Locked<(@Sendable () -> Void)?>(nil)

  /// Handles Ctrl-C from now on, unless the parent process has set it to be ignored.
  init() {
    // The default action would end the process before the source is notified. A process starts with either the default,
    // which is returned as `nil`, or ignoring.
    guard signal(SIGINT, SIG_IGN) == nil else { return }
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "moments.Interrupt"))
    source.setEventHandler { [cancel] in
      if let cancel = cancel.withLock({ exchange(&$0, with: nil) }) {
        cancel()
      } else {
        // The main thread may be blocked in a write that nobody reads, and a write here would block, too.
        if Output.standardError.hasRoom { Output.standardError.say("\(ErrorLine(CancellationError()))") }
        withExtendedLifetime(source) { _exit(ExitCode.cancelled.rawValue) }
      }
    }
    source.activate()
  }

  /// The result of a task, which the first Ctrl-C cancels.
  func result<Value: Sendable>(of task: Task<Value, any Error>) async -> Result<Value, any Error> {
    cancel.withLock { $0 = { task.cancel() } }
    defer { cancel.withLock { $0 = nil } }
    return await task.result
  }
}
