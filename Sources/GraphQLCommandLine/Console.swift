package import CommandLineBase
package import SystemBase

/// The exit codes: those of BSD's sysexits.h.
package enum ExitCode: Int32 {
  case success = 0
  /// The command line is wrong.
  case usage = 64
  /// What was given is not valid, or breaks something.
  case invalid = 65
  /// A file cannot be read.
  case noInput = 66
  /// The server was not reached.
  case unreachable = 69
  /// A file cannot be opened to be written, or may not be.
  case cannotWrite = 73
  /// The output failed, as on a full device.
  case outputFailed = 74
}

/// Ends the run with a message.
package struct Failure: Error {
  package let exitCode: ExitCode
  package let message: String

  package init(exitCode: ExitCode, message: String) {
    (self.exitCode, self.message) = (exitCode, message)
  }

  /// The failure, with the place in a file that names what cannot be used.
  func at(_ place: String?) -> Failure {
    place.map { Failure(exitCode: exitCode, message: "\($0): \(message)") } ?? self
  }
}

/// Where results and messages go: standard output and standard error, each in colour if it is a terminal.
package struct Console: Sendable {
  private let command: String
  /// How results look.
  package let style: Style
  /// How messages look.
  let messageStyle: Style

  /// - Parameter command: The name with which messages begin.
  package init(of command: String) {
    Output.prepare()
    self.command = command
    let environment = ProcessInfo.processInfo.environment
    style = Style(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environment)
    messageStyle = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
  }

  /// Writes a result. If the reader is gone, as with `head`, that is no error.
  package func write(_ text: String) throws(Failure) {
    do throws(OutputError) {
      try Output.standardOutput.write(text)
    } catch {
      throw Failure(exitCode: .outputFailed, message: error.message)
    }
  }

  /// Writes a result as JSON, in which nothing can control a terminal.
  package func writeJSON(_ json: Data) throws(Failure) {
    try write(String(decoding: json, as: UTF8.self).terminalSafeJSON + "\n")
  }

  /// Writes a result as JSON.
  package func writeJSON(_ value: some Encodable) throws(Failure) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let json: Data
    do {
      json = try encoder.encode(value)
    } catch {
      throw Failure(exitCode: .invalid, message: "\(error)")
    }
    try writeJSON(json)
  }

  /// Writes a line for people, beside the results.
  package func report(_ line: String) { Output.standardError.say(line) }

  /// Runs a command; returns its exit code, and says what it failed of.
  package func running(_ body: @Sendable () async throws -> ExitCode) async -> ExitCode {
    do {
      return try await body()
    } catch let error as UsageError {
      report(failure: error.message)
      return .usage
    } catch let error as Failure {
      report(failure: error.message)
      return error.exitCode
    } catch {
      report(failure: "\(error)")
      return .invalid
    }
  }

  func report(failure message: String) { report("\(command): \(sanitized(message, upTo: 2_000))") }
}

/// A number with its noun: `1 file`, `2 files`.
package func counted(_ count: Int, _ noun: String) -> String {
  "\(count == 0 ? "no" : "\(count)") \(noun)\(count == 1 ? "" : "s")"
}
