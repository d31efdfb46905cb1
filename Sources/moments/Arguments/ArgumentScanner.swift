/// Splits a command line into options and positional arguments, from left to right.
struct ArgumentScanner {
  /// One token of a command line.
  enum Token: Equatable {
    case option(Option, value: String)
    case positional(String)
  }

  private var rest: ArraySlice<String>
  private var optionsHaveEnded = false
  private var seen: Set<Option> = []

  init(_ arguments: [String]) {
    rest = arguments[...]
  }

  /// The next token, or `nil` at the end; a flag's value is empty.
  mutating func next() throws(UsageError) -> Token? {
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
      throw UsageError("there is no option '\(name)'; 'moments --help' lists them")
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
