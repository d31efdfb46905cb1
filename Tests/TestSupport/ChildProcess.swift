package import Foundation
import Glibc
package import LoopbackServers

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
    /// A terminal of this width, of which line ends arrive as `\r\n`.
    case terminal(columns: UInt16)
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
    // The thread holds these parts and not this object, so that the object can be released while the program runs.
    Thread.detachNewThread { [state, process] in
      Self.collect(output: outputReader, errors: errorReader, into: state)
      let (ending, peakMemory) = process.waitForEnd()
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
