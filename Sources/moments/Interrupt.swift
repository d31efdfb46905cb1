import CommandLineBase
import Dispatch
import Streams
import Synchronization
import SystemBase

/// Handles Ctrl-C, SIGTERM and SIGHUP: cancels the running task, or ends the process if there is none. Also notices when the
/// window changes its size.
final class Interrupt: Sendable {
  private let state = Mutex<(cancel: (@Sendable () -> Void)?, termination: Termination?)>((nil, nil))

  private let windows = PublishSubject<Void>()

  /// The pipe that the signal handler writes to, as a handler may do little else.
  private static let pipe = makePipe()

  /// Handles the signals from now on, except one that the parent process has set to be ignored.
  init() {
    guard let reader = Self.pipe?.reader else { return }
    // A signal source of Dispatch is set up only later, and a signal that came before would be lost. A process starts
    // with either the default, which is returned as `nil`, or ignoring.
    for number in [SIGINT, SIGTERM, SIGHUP] {
      let wasIgnored = signal(number, { Interrupt.notify($0) }) != nil
      if wasIgnored { signal(number, SIG_IGN) }
    }
    let queue = DispatchQueue(label: "moments.Interrupt")
    let source = DispatchSource.makeReadSource(fileDescriptor: reader, queue: queue)
    source.setEventHandler { [self] in
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = read(reader, &bytes, bytes.count)
      let signals = Set(bytes.prefix(max(count, 0)).map(Int32.init))
      if signals.contains(SIGWINCH) { windows.onNext(()) }
      guard !signals.isDisjoint(with: [SIGINT, SIGTERM, SIGHUP]) else { return }
      let termination: Termination? =
        if signals.contains(SIGTERM) { .asked } else if signals.contains(SIGHUP) { .hungUp } else { nil }
      let cancel = state.withLock { state in
        state.termination = state.termination ?? termination
        return state.cancel.take()
      }
      if let cancel {
        cancel()
      } else {
        let error = named(CancellationError())
        // The main thread may be blocked in a write that is not read, and a write here would block, too.
        if Output.standardError.hasRoom { Output.standardError.say("\(ErrorLine(error))") }
        withExtendedLifetime(source) { _exit(ExitCode(error).rawValue) }
      }
    }
    source.activate()
  }

  /// Emits whenever the terminal's window has changed its size, from the subscription on.
  var windowChanges: Observable<Void> {
    .deferred { [windows] in
      signal(SIGWINCH, { Interrupt.notify($0) })
      return windows.asObservable()
    }
  }

  /// The result of a task, which the first signal cancels.
  func result<Value: Sendable>(of task: Task<Value, any Error>) async -> Result<Value, any Error> {
    state.withLock { $0.cancel = { task.cancel() } }
    defer { state.withLock { $0.cancel = nil } }
    return await task.result
  }

  /// The error by which a run ends: a cancellation by another signal than Ctrl-C's is a `Termination`.
  func named(_ error: any Error) -> any Error {
    guard ExitCode(error) == .cancelled, let termination = state.withLock({ $0.termination }) else { return error }
    return termination
  }

  /// Both ends of a pipe; neither blocks.
  private static func makePipe() -> (reader: Int32, writer: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard SystemBase.pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    return (ends[0], ends[1])
  }

  /// Runs in the signal handler, on any thread.
  private static func notify(_ number: Int32) {
    guard let writer = pipe?.writer else { return }
    let code = errno
    var byte = UInt8(number)
    _ = write(writer, &byte, 1)
    errno = code
  }
}
