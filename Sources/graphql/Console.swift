import CommandLineBase
import SystemBase

/// Where results and messages go: standard output, in colour if it is a terminal, and standard error.
struct Console: Sendable {
  private let style: Style

  init(environment: [String: String]) {
    Output.prepare()
    style = Style(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environment)
  }

  func paint(_ text: String, _ ink: Style.Ink) -> String { style.paint(text, ink) }

  /// Writes a result. If the reader is gone, as with `head`, that is no error.
  func write(_ text: String) throws(GraphQLCommand.Failure) {
    do throws(OutputError) {
      try Output.standardOutput.write(text)
    } catch {
      throw GraphQLCommand.Failure(exitCode: .outputFailed, message: error.message)
    }
  }

  /// Writes a result as JSON, in which nothing can control a terminal.
  func writeJSON(_ json: Data) throws(GraphQLCommand.Failure) {
    try write(String(decoding: json, as: UTF8.self).terminalSafeJSON + "\n")
  }

  /// Writes a line for people, beside the results.
  func report(_ line: String) { Output.standardError.say(line) }
}
