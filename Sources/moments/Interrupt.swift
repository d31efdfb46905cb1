import Dispatch
import Platform
import Synchronization

/// Handles Ctrl-C: cancels the running task, or ends the process if there is none.
final class Interrupt: Sendable {
  private let cancel = Mutex<(@Sendable () -> Void)?>(nil)

  /// The pipe that the signal handler writes to, as a handler may do little else.
  private static let pipe = makePipe()

  /// Handles Ctrl-C from now on, unless the parent process has set it to be ignored.
  init() {
    guard let reader = Self.pipe?.reader else { return }
    // A signal source of Dispatch is set up only later, and a signal that came before would be lost. A process starts
    // with either the default, which is returned as `nil`, or ignoring.
    guard signal(SIGINT, { _ in Interrupt.tell() }) == nil else {
      signal(SIGINT, SIG_IGN)
      return
    }
    let queue = DispatchQueue(label: "moments.Interrupt")
    let source = DispatchSource.makeReadSource(fileDescriptor: reader, queue: queue)
    source.setEventHandler { [self] in
      var bytes = [UInt8](repeating: 0, count: 64)
      _ = read(reader, &bytes, bytes.count)
      if let cancel = cancel.withLock({ $0.take() }) {
        cancel()
      } else {
        // The main thread may be blocked in a write that is not read, and a write here would block, too.
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

  /// Both ends of a pipe; neither blocks.
  private static func makePipe() -> (reader: Int32, writer: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard Platform.pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    return (ends[0], ends[1])
  }

  /// Runs in the signal handler, on any thread.
  private static func tell() {
    guard let writer = pipe?.writer else { return }
    let code = errno
    var byte: UInt8 = 0
    _ = write(writer, &byte, 1)
    errno = code
  }
}
