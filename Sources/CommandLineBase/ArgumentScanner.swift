/// The options of a command; the raw values are their names without the two dashes.
package protocol CommandOption: RawRepresentable<String>, Hashable, Sendable {
  /// The option of `-h`.
  static var help: Self { get }

  /// Whether a value follows, in the next argument or after `=`.
  var takesValue: Bool { get }

  /// Whether the option may be given more than once.
  var isRepeatable: Bool { get }
}

/// Splits a command line into options and positional arguments, from left to right.
package struct ArgumentScanner<Option: CommandOption> {
  /// One token of a command line.
  package enum Token: Equatable {
    /// A flag's value is empty.
    case option(Option, value: String)
    case positional(String)
  }

  private let command: String
  private var rest: ArraySlice<String>
  private var optionsHaveEnded = false
  private var seen: Set<Option> = []

  /// Takes the arguments, without the command's own name, and that.
  package init(_ arguments: [String], of command: String) {
    rest = arguments[...]
    self.command = command
  }

  /// The next token, or `nil` at the end.
  package mutating func next() throws(UsageError) -> Token? {
    guard let argument = rest.popFirst() else { return nil }
    if optionsHaveEnded || !argument.hasPrefix("-") || argument == "-" { return .positional(argument) }
    if argument == "--" {
      optionsHaveEnded = true
      return try next()
    }
    if argument == "-h" { return .option(.help, value: "") }

    // Errors show only an option's name: what follows may be a secret, even after a one-letter option as in curl.
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(argument.hasPrefix("--") ? parts[0] : argument.prefix(2))
    guard name.hasPrefix("--"), let option = Option(rawValue: String(name.dropFirst(2))) else {
      throw UsageError("there is no option '\(name)'; '\(command) --help' lists them")
    }
    guard seen.insert(option).inserted || option.isRepeatable else {
      throw UsageError("\(name) is given twice; give it once")
    }
    return .option(option, value: try value(of: option, name: name, attached: parts.dropFirst().first))
  }

  private mutating func value(of option: Option, name: String, attached: Substring?) throws(UsageError) -> String {
    guard option.takesValue else {
      if attached != nil { throw UsageError("\(name) takes no value; write \(name) alone") }
      return ""
    }
    if let attached { return String(attached) }
    // A value that looks like an option is more likely a forgotten value; with "=" it is accepted.
    guard let value = rest.first, !value.hasPrefix("--") else {
      throw UsageError("\(name) has no value; write \(name)=VALUE")
    }
    rest.removeFirst()
    return value
  }
}

/// An invalid command line or environment variable.
package struct UsageError: Error, Equatable {
  /// What is wrong, where, and what to do about it; never a value that may be a secret.
  package let message: String

  package init(_ message: String) {
    self.message = message
  }
}
