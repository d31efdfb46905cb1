import CommandLineBase

/// The command line, taken apart and checked.
struct Arguments {
  enum Command: String, CaseIterable {
    case validate, format, manifest, generate
    case download = "schema download"
    case print = "schema print"
    case check = "schema check"
    case diff = "schema diff"

    /// The options that it takes, with the others that every command takes.
    var options: Set<Option> {
      switch self {
      case .validate: [.schema, .separately, .noWarnings, .json]
      case .format: [.check]
      case .manifest: [.output, .format, .separately]
      case .generate:
        [.config, .schema, .output, .manifest, .header, .allowCleartext, .check, .once, .json, .noWarnings]
      case .download: [.endpoint, .output, .header, .allowCleartext]
      case .print: [.sort, .json]
      case .check: [.noWarnings, .json]
      case .diff: [.separately, .json]
      }
    }

    /// How many files it takes.
    var files: ClosedRange<Int> {
      switch self {
      case .validate, .format, .manifest: 1...Int.max
      case .generate: 0...Int.max
      case .download: 0...0
      case .print, .check: 1...1
      case .diff: 2...Int.max
      }
    }
  }

  enum Option: String, CommandOption {
    case help, version
    case json, check, sort, separately, once
    case noWarnings = "no-warnings"
    case allowCleartext = "allow-cleartext"
    case schema, endpoint, output, format, header, config, manifest

    var takesValue: Bool {
      switch self {
      case .help, .version, .json, .check, .sort, .separately, .once, .noWarnings, .allowCleartext: false
      case .schema, .endpoint, .output, .format, .header, .config, .manifest: true
      }
    }

    var isRepeatable: Bool { !takesValue || self == .header }
  }

  /// The environment variable with the value of `Authorization`.
  static let authorizationVariable = "GRAPHQL_AUTHORIZATION"

  private(set) var command: Command?
  private(set) var flags: Set<Option> = []
  private(set) var files: [String] = []
  private(set) var schema: String?
  private(set) var endpoint: String?
  private(set) var output: String?
  private(set) var format: String?
  private(set) var config: String?
  private(set) var manifest: String?
  private(set) var headers: [HeaderField] = []

  /// Takes the arguments, without the command's own name.
  init(_ arguments: [String]) throws(UsageError) {
    var scanner = ArgumentScanner<Option>(arguments, of: "graphql")
    var given: [Option] = []
    while let token = try scanner.next() {
      switch token {
      case .positional(let text): files.append(text)
      case .option(let option, let value):
        given.append(option)
        try set(option, to: value)
      }
    }
    command = try Self.takeCommand(&files)
    guard flags.isDisjoint(with: [.help, .version]), let command else { return }
    for option in given where !command.options.contains(option) {
      throw UsageError("'\(command.rawValue)' has no option --\(option.rawValue); see graphql --help")
    }
    try check(command)
  }

  private mutating func set(_ option: Option, to value: String) throws(UsageError) {
    switch option {
    case .schema: schema = value
    case .endpoint: endpoint = value
    case .output: output = value
    case .format: format = value
    case .config: config = value
    case .manifest: manifest = value
    case .header: headers.append(try HeaderField(argument: value, credentialsIn: Self.authorizationVariable))
    case .help, .version, .json, .check, .sort, .separately, .once, .noWarnings, .allowCleartext:
      flags.insert(option)
    }
  }

  private static func takeCommand(_ words: inout [String]) throws(UsageError) -> Command? {
    guard let first = words.first else { return nil }
    if first == "schema" {
      guard words.count > 1 else { return nil }
      guard let command = Command(rawValue: "schema \(words[1])") else {
        throw usage("there is no command 'schema \(words[1])'")
      }
      words.removeFirst(2)
      return command
    }
    guard let command = Command(rawValue: first) else { throw usage("there is no command '\(first)'") }
    words.removeFirst()
    return command
  }

  private func check(_ command: Command) throws(UsageError) {
    guard command.files.contains(files.count) else {
      let wanted =
        switch command {
        case .download: "no files"
        case .print, .check: "one file"
        case .diff: "two schemas, and perhaps documents"
        case .validate, .format, .manifest, .generate: "files"
        }
      throw Self.usage("'\(command.rawValue)' takes \(wanted)")
    }
    if command == .validate, schema == nil { throw Self.usage("'validate' needs --schema") }
    if command == .download {
      if endpoint == nil { throw Self.usage("'schema download' needs --endpoint") }
      if output == nil { throw Self.usage("'schema download' needs --output") }
    }
    if command != .generate, output == "" {
      throw Self.usage("--output is empty; name a file, or - for standard output")
    }
    if (files + [schema].compactMap { $0 }).filter({ $0 == "-" }).count > 1 {
      throw Self.usage("only one file can be standard input")
    }
  }

  private static func usage(_ message: String) -> UsageError { UsageError(message + "; see graphql --help") }
}
