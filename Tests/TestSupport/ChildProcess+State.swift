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
