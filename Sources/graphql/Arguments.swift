/// The command line, taken apart and checked.
struct Arguments {
  enum Command: String, CaseIterable {
    case validate, format, manifest
    case download = "schema download"
    case print = "schema print"
    case check = "schema check"
    case diff = "schema diff"

    /// The options that it takes, with the others that every command takes.
    var options: Set<String> {
      switch self {
      case .validate: ["--schema", "--separately", "--no-warnings", "--json"]
      case .format: ["--check"]
      case .manifest: ["--output", "--format", "--separately"]
      case .download: ["--endpoint", "--output", "--header"]
      case .print: ["--sort", "--json"]
      case .check: ["--no-warnings", "--json"]
      case .diff: ["--separately", "--json"]
      }
    }

    /// How many files it takes.
    var files: ClosedRange<Int> {
      switch self {
      case .validate, .format, .manifest: 1...Int.max
      case .download: 0...0
      case .print, .check: 1...1
      case .diff: 2...Int.max
      }
    }
  }

  enum Flag: String {
    case help = "--help"
    case version = "--version"
    case json = "--json"
    case check = "--check"
    case sort = "--sort"
    case separately = "--separately"
    case noWarnings = "--no-warnings"
  }

  private(set) var command: Command?
  private(set) var flags: Set<Flag> = []
  private(set) var files: [String] = []
  private(set) var schema: String?
  private(set) var endpoint: String?
  private(set) var output: String?
  private(set) var format: String?
  private(set) var headers: [String] = []

  init(_ texts: [String]) throws(GraphQLCommand.Failure) {
    var words: [String] = []
    var options: [(name: String, value: String?)] = []
    var rest = texts[...]
    while let text = rest.popFirst() {
      if text == "--" {
        words += rest
        break
      }
      guard text.hasPrefix("-"), text != "-" else {
        words.append(text)
        continue
      }
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      let name = ["-h": "--help", "-V": "--version"][parts[0]] ?? parts[0]
      if ["--schema", "--endpoint", "--output", "--header", "--format"].contains(name) {
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw Self.usage("\(name) needs a value")
        }
        options.append((name, value))
      } else {
        guard parts.count == 1, Flag(rawValue: name) != nil else { throw Self.usage("there is no option \(text)") }
        options.append((name, nil))
      }
    }
    for option in options where option.value == nil { flags.insert(Flag(rawValue: option.name) ?? .help) }
    command = try Self.takeCommand(&words)
    files = words
    for (name, value) in options {
      switch name {
      case "--schema": schema = value
      case "--endpoint": endpoint = value
      case "--output": output = value
      case "--format": format = value
      case "--header": headers += [value].compactMap { $0 }
      default: break
      }
    }
    guard flags.isDisjoint(with: [.help, .version]), let command else { return }
    for option in options where !command.options.contains(option.name) {
      throw Self.usage("\"\(command.rawValue)\" has no option \(option.name)")
    }
    try check(command)
  }

  private static func takeCommand(_ words: inout [String]) throws(GraphQLCommand.Failure) -> Command? {
    guard let first = words.first else { return nil }
    if first == "schema" {
      guard words.count > 1 else { return nil }
      guard let command = Command(rawValue: "schema \(words[1])") else {
        throw usage("there is no command \"schema \(words[1])\"")
      }
      words.removeFirst(2)
      return command
    }
    guard let command = Command(rawValue: first) else { throw usage("there is no command \"\(first)\"") }
    words.removeFirst()
    return command
  }

  private func check(_ command: Command) throws(GraphQLCommand.Failure) {
    guard command.files.contains(files.count) else {
      let wanted =
        switch command {
        case .download: "no files"
        case .print, .check: "one file"
        case .diff: "two schemas, and perhaps documents"
        case .validate, .format, .manifest: "files"
        }
      throw Self.usage("\"\(command.rawValue)\" takes \(wanted)")
    }
    if command == .validate, schema == nil { throw Self.usage("\"validate\" needs --schema") }
    if command == .download {
      if endpoint == nil { throw Self.usage("\"schema download\" needs --endpoint") }
      if output == nil { throw Self.usage("\"schema download\" needs --output") }
    }
    if (files + [schema].compactMap { $0 }).filter({ $0 == "-" }).count > 1 {
      throw Self.usage("only one file can be standard input")
    }
  }

  private static func usage(_ message: String) -> GraphQLCommand.Failure {
    GraphQLCommand.Failure(exitCode: .usage, message: message + "; see graphql --help")
  }
}
