package import Foundation
import Glibc
package import LoopbackServers
import Synchronization

/// A program that a test runs: its output is collected while it runs, and it is killed when this object is released.
///
/// It inherits no descriptor of the test process, and no signal that the test process ignores or blocks.
package final class ChildProcess: Sendable {
  /// What the program reads.
  package enum Input: Sendable {
    /// The null device.
    case none
    /// These bytes, and then the end.
    case bytes([UInt8])
    /// Nothing, and no end either until `closeInput()`, or until the test process ends.
    case open
  }

  /// Where its standard output goes. Its standard error is a pipe in either case.
  package enum OutputKind: Sendable {
    case pipe
    /// A terminal of this size, of which line ends arrive as `\r\n`.
    case terminal(columns: UInt16, rows: UInt16 = 40)
  }

  package enum Ending: Sendable, Hashable {
    case exited(Int32)
    case signalled(Int32)
  }

  /// What has happened so far; tests can wait on it.
  package let state = Monitor(State())

  private let input: Descriptor?
  private let process: SpawnedProcess

  /// Starts a program.
  ///
  /// - Parameter environment: what is added to the test's own environment, of which the variables that begin with
  ///   `MOMENTS_` are left out; nil removes a variable.
  package init(
    _ executable: URL, _ arguments: [String] = [], environment: [String: String?] = [:], input: Input = .none,
    output: OutputKind = .pipe
  ) throws {
    let (inputReader, inputWriter) = try Self.openInput(input)
    let (outputReader, outputWriter) = try Self.openOutput(output)
    let (errorReader, errorWriter) = try Descriptor.pipe()
    process = try SpawnedProcess(
      executable.path, arguments, environment: Self.environment(changedBy: environment),
      standardDescriptors: [inputReader, outputWriter, errorWriter])
    for descriptor in [inputReader, outputWriter, errorWriter] { descriptor.close() }
    if case .bytes(let bytes) = input, let inputWriter {
      self.input = nil
      Thread.detachNewThread { inputWriter.writeAllAndClose(bytes) }
    } else {
      self.input = inputWriter
    }
    // The threads hold these parts and not this object, so that the object can be released while the program runs.
    let isCollected = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [state] in
      Self.collect(output: outputReader, errors: errorReader, into: state)
      isCollected.signal()
    }
    Thread.detachNewThread { [state, process] in
      // At once, though others may still have its output open: behind a process that has ended and that nobody has waited
      // for, an exit test of Swift Testing does not find its own.
      let (ending, peakMemory) = process.waitForEnd()
      isCollected.wait()
      state.update {
        $0.ending = ending
        $0.peakMemory = peakMemory
      }
    }
  }

  deinit {
    process.send(SIGKILL)
  }

  /// Runs a program to its end.
  ///
  /// - Throws: `TimedOut` with what it has written when it runs longer; it is killed then.
  package static func run(
    _ executable: URL, _ arguments: [String] = [], environment: [String: String?] = [:], input: Input = .none,
    output: OutputKind = .pipe, within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> State {
    let child = try ChildProcess(executable, arguments, environment: environment, input: input, output: output)
    return try await child.waitForEnd(within: limit, file: file, line: line)
  }

  /// Waits until the program has ended and all that it wrote is read.
  ///
  /// - Throws: `TimedOut` with what it has written when it runs longer; it is killed then.
  package func waitForEnd(
    within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> State {
    do {
      return try await state.wait(for: "the program's end", within: limit, file: file, line: line) { $0.ending != nil }
    } catch {
      process.send(SIGKILL)
      throw error
    }
  }

  /// Waits until its standard output contains the text, and gives all of it.
  @discardableResult
  package func waitForOutput(
    containing text: String, within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> String {
    try await waitForText(in: \.output, containing: text, within: limit, file: file, line: line)
  }

  /// Waits until its standard error contains the text, and gives all of it.
  @discardableResult
  package func waitForErrors(
    containing text: String, within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> String {
    try await waitForText(in: \.errors, containing: text, within: limit, file: file, line: line)
  }

  /// Sends a signal, such as `SIGINT`; nothing happens when the program has ended.
  package func send(_ signal: Int32) {
    process.send(signal)
  }

  /// What it uses of the system now; nil when it has ended.
  package var usage: ProcessUsage? {
    process.whileRunning { ProcessUsage(of: $0) } ?? nil
  }

  /// Whether the program leaves a signal to the system, as it neither handles nor ignores it; nil when it has ended.
  package func leavesToSystem(_ signal: Int32) -> Bool? {
    process.whileRunning { identifier in
      let status = try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)
      let masks = status?.split(separator: "\n").filter { $0.hasPrefix("SigIgn:") || $0.hasPrefix("SigCgt:") } ?? []
      return masks.compactMap { UInt64($0.suffix(16), radix: 16) }.allSatisfy { $0 >> (signal - 1) & 1 == 0 }
    }
  }

  /// Ends an open input.
  package func closeInput() {
    input?.close()
  }

  private func waitForText(
    in stream: any KeyPath<State, [UInt8]> & Sendable, containing text: String, within limit: Duration,
    file: StaticString,
    line: UInt
  ) async throws -> String {
    let wanted = [UInt8](text.utf8)
    let what = "the program to write \(text.debugDescription)"
    let state = try await state.wait(for: what, within: limit, file: file, line: line) { state in
      state.ending != nil || !state[keyPath: stream].ranges(of: wanted).isEmpty
    }
    guard !state[keyPath: stream].ranges(of: wanted).isEmpty else {
      throw EndedEarly(what: what, state: state, location: "\(file):\(line)")
    }
    return String(decoding: state[keyPath: stream], as: UTF8.self)
  }
}

extension ChildProcess {
  static func environment(changedBy changes: [String: String?]) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MOMENTS_") }
    for (name, value) in changes { environment[name] = value }
    return environment
  }

  static func openInput(_ input: Input) throws -> (reader: Descriptor, writer: Descriptor?) {
    switch input {
    case .none: (Descriptor(try FailedCall.check(open("/dev/null", O_RDONLY | O_CLOEXEC), "open")), nil)
    case .bytes, .open: try Descriptor.pipe()
    }
  }

  static func openOutput(_ kind: OutputKind) throws -> (reader: Descriptor, writer: Descriptor) {
    switch kind {
    case .pipe: try Descriptor.pipe()
    case .terminal(let columns, let rows): try Descriptor.terminal(columns: columns, rows: rows)
    }
  }

  /// Reads both streams until both have ended.
  static func collect(output: Descriptor, errors: Descriptor, into state: Monitor<State>) {
    var entries = [output, errors].map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    while entries.contains(where: { $0.fd >= 0 }) {
      _ = uninterrupted { poll(&entries, 2, -1) }
      for (index, descriptor) in [output, errors].enumerated() where entries[index].revents != 0 {
        let bytes = descriptor.read()
        if bytes.isEmpty {
          entries[index].fd = -1  // poll passes over it
          entries[index].revents = 0
        } else {
          state.update { index == 0 ? ($0.output += bytes) : ($0.errors += bytes) }
        }
      }
    }
    output.close()
    errors.close()
  }
}

extension Descriptor {
  /// The next bytes of a pipe or terminal; none at its end, which a terminal tells by an error.
  fileprivate func read() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, uninterrupted { Glibc.read(number, buffer.baseAddress, buffer.count) })
    }
  }

  /// Writes all bytes and closes, on a thread of its own; a program that reads no more ends it.
  func writeAllAndClose(_ bytes: [UInt8]) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(Int32(SIG_BLOCK), &signals, nil)  // EPIPE instead; the signal would go to this thread
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { buffer in
        uninterrupted { Glibc.write(number, buffer.baseAddress, buffer.count) }
      }
      if written <= 0 { break }
      rest = rest.dropFirst(written)
    }
    close()
  }

  /// A terminal: what is written to the second end is read from the first.
  fileprivate static func terminal(columns: UInt16, rows: UInt16) throws -> (reader: Descriptor, writer: Descriptor) {
    // openpt(3) and its kin in terms of Linux's own calls, as the C library's module does not show them.
    let reader = Descriptor(try FailedCall.check(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open"))
    var locked: Int32 = 0
    try FailedCall.check(ioctl(reader.number, 0x4004_5431 /* TIOCSPTLCK */, &locked), "ioctl")
    var number: Int32 = 0
    try FailedCall.check(ioctl(reader.number, 0x8004_5430 /* TIOCGPTN */, &number), "ioctl")
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    try FailedCall.check(ioctl(reader.number, UInt(TIOCSWINSZ), &size), "ioctl")
    let name = "/dev/pts/\(number)"
    let writer = Descriptor(try FailedCall.check(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), "open"))
    return (reader, writer)
  }
}

extension ChildProcess {
  /// What the program has written so far, and how it ended.
  package struct State: Sendable, CustomStringConvertible {
    package internal(set) var output: [UInt8] = []
    package internal(set) var errors: [UInt8] = []

    /// Nil while the program runs or its output has not been read to the end.
    package internal(set) var ending: Ending?

    /// The most memory that it ever had, in bytes; known when it has ended.
    package internal(set) var peakMemory: Int?

    /// The standard output as text, what is not UTF-8 replaced.
    package var outputText: String { String(decoding: output, as: UTF8.self) }

    /// The standard error as text, what is not UTF-8 replaced.
    package var errorText: String { String(decoding: errors, as: UTF8.self) }

    /// The exit code; nil when it runs still or was ended by a signal.
    package var exitCode: Int32? {
      if case .exited(let code) = ending { code } else { nil }
    }

    package var description: String {
      "\(ending.map { "\($0)" } ?? "running"), stdout: \(outputText), stderr: \(errorText)"
    }
  }
}

/// A child process that is signalled and waited for safely: no signal can hit another process that got its number
/// later.
final class SpawnedProcess: Sendable {
  private let identifier: pid_t
  private let isRunning = Mutex(true)

  /// Starts a program with these as its descriptors 0, 1 and 2, and with no others.
  init(
    _ path: String, _ arguments: [String], environment: [String: String], standardDescriptors: [Descriptor]
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in standardDescriptors.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor.number, Int32(number))
    }
    guard let closeFrom else { throw FailedCall(call: "posix_spawn_file_actions_addclosefrom_np", code: ENOSYS) }
    _ = closeFrom(&actions, Int32(standardDescriptors.count))

    // A shell that starts the tests in the background makes them ignore SIGINT, which a child would inherit.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let argumentPointers = ([path] + arguments).map { strdup($0) }
    let environmentPointers = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
    var identifier: pid_t = 0
    let code = posix_spawn(
      &identifier, path, &actions, &attributes, argumentPointers + [nil], environmentPointers + [nil])
    guard code == 0 else { throw FailedCall(call: "posix_spawn \(path)", code: code) }
    self.identifier = identifier
  }

  func send(_ signal: Int32) {
    _ = whileRunning { kill($0, signal) }
  }

  /// Does something with the process's number; nil when it has ended.
  func whileRunning<Result: Sendable>(_ body: (pid_t) -> Result) -> Result? {
    isRunning.withLock { $0 ? body(identifier) : nil }
  }

  /// Waits until it has ended, and gives the most memory it had, in bytes. To be called once.
  func waitForEnd() -> (ending: ChildProcess.Ending, peakMemory: Int) {
    // First without reaping, so that the lock is not held while the process runs.
    var information = siginfo_t()
    _ = uninterrupted { waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) }
    return isRunning.withLock { isRunning in
      var status: Int32 = 0
      var usage = rusage()
      _ = uninterrupted { wait4(identifier, &status, 0, &usage) }
      isRunning = false
      // The macros WIFEXITED and so on, which Swift does not see.
      let signal = status & 0x7f
      return (signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal), usage.ru_maxrss * 1024)
    }
  }
}

/// `posix_spawn_file_actions_addclosefrom_np` of glibc 2.34, which its module does not show.
private let closeFrom: CloseFrom? =
  dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map { unsafeBitCast($0, to: CloseFrom.self) }

private typealias CloseFrom =
  @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

/// What a process uses of the system, for tests that nothing is left behind.
///
/// Of the test process itself it says little while other tests run beside: such a test is better off with a child
/// process.
package struct ProcessUsage: Sendable, Hashable {
  package let descriptors: Int
  package let threads: Int

  /// Resident memory in bytes.
  package let memory: Int

  /// Of the test process.
  package static var current: ProcessUsage? { ProcessUsage(of: getpid()) }

  /// Nil when there is no such process.
  init?(of process: pid_t) {
    let files = FileManager.default
    guard let descriptors = try? files.contentsOfDirectory(atPath: "/proc/\(process)/fd").count,
      let threads = try? files.contentsOfDirectory(atPath: "/proc/\(process)/task").count,
      let pages = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8).split(separator: " ")[1],
      let memory = Int(pages).map({ $0 * sysconf(Int32(_SC_PAGESIZE)) })
    else { return nil }
    self.descriptors = descriptors
    self.threads = threads
    self.memory = memory
  }
}

/// A program ended before it wrote what a test waited for.
package struct EndedEarly: Error, CustomStringConvertible {
  package let what: String
  package let state: ChildProcess.State
  package let location: String

  package var description: String { "Waited for \(what) at \(location), but it ended: \(state)" }
}
