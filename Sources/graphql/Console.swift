import SystemBase

/// Where results and messages go: standard output, in colour if it is a terminal, and standard error.
struct Console: Sendable {
  /// A colour or weight: a parameter of Select Graphic Rendition (ECMA-48, section 8.3.117).
  enum Ink: String {
    case bold = "1"
    case red = "31"
    case yellow = "33"
    case green = "32"
  }

  private let isColored: Bool

  /// Takes the environment: a `NO_COLOR` that is not empty (https://no-color.org), or `TERM=dumb`, turns colours off.
  init(environment: [String: String]) {
    FileDescriptor.reserveStandardStreams()
    let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    isColored = isatty(STDOUT_FILENO) == 1 && !isRefused && environment["TERM"] != "dumb"
    // If the reader is gone, as with `head`, a write fails instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
  }

  func paint(_ text: String, _ ink: Ink) -> String {
    isColored && !text.isEmpty ? "\u{1B}[\(ink.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Writes a result. If the reader is gone, as with `head`, that is no error.
  func write(_ text: String) throws(GraphQLCommand.Failure) {
    do {
      try FileDescriptor.standardOutput.writeAll(Array(text.utf8))
    } catch {
      if (error as? SystemError)?.code == EPIPE { return }
      throw GraphQLCommand.Failure(exitCode: .outputFailed, message: "the output cannot be written: \(error)")
    }
  }

  /// Writes a result as JSON, in which nothing can control a terminal.
  func writeJSON(_ json: Data) throws(GraphQLCommand.Failure) {
    try write(String(decoding: json, as: UTF8.self).terminalSafeJSON + "\n")
  }

  /// Writes a line for people, beside the results.
  func report(_ line: String) { try? FileDescriptor.standardError.writeAll(Array((line + "\n").utf8)) }
}
