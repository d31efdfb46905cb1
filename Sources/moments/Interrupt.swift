import Dispatch
import Foundation
import HTTP

/// Turns Ctrl-C into the cancellation of what is under way, or, where nothing is, into the end of the process.
final class Interrupt: Sendable {
  private let cancel = Locked<(@Sendable () -> Void)?>(nil)

  /// Watches from now on, for as long as the process lives; unless whoever started it wants Ctrl-C to be ignored.
  init() {
    // A signal that is not ignored would end the process before its source hears of it. What a process begins with is the
    // default, which is no handler, or being ignored.
    guard signal(SIGINT, SIG_IGN) == nil else { return }
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "moments.Interrupt"))
    source.setEventHandler { [cancel] in
      if let cancel = cancel.withLock({ exchange(&$0, with: nil) }) {
        cancel()
      } else {
        // The main thread may be in the middle of a write that nobody takes, and so would this one be.
        if Output.standardError.hasRoom { Output.standardError.say("\(ErrorLine(CancellationError()))") }
        withExtendedLifetime(source) { _exit(ExitCode.cancelled.rawValue) }
      }
    }
    source.activate()
  }

  /// What a task comes to, which the first Ctrl-C cancels.
  func result<Value: Sendable>(of task: Task<Value, any Error>) async -> Result<Value, any Error> {
    cancel.withLock { $0 = { task.cancel() } }
    defer { cancel.withLock { $0 = nil } }
    return await task.result
  }
}
