import Foundation
import HTTP
import Repository

/// What the command line and the environment ask for.
struct Arguments: Equatable, Sendable {
  /// What the command is to do.
  enum Action: Equatable, Sendable {
    case help
    case version
    case timeline
    case updateLike(Bool, momentID: String)
    case cacheStatistics
    case clearCache
    case listOutbox
    case flushOutbox
    case drop(id: String)
    case retry(id: String)

    /// Whether the command is about what is kept on disk.
    var needsCache: Bool {
      switch self {
      case .cacheStatistics, .clearCache, .listOutbox, .flushOutbox, .drop, .retry: true
      case .help, .version, .timeline, .updateLike: false
      }
    }
  }

  var action = Action.timeline

  /// Whose timeline it is, or who likes.
  var userID = "0"

  /// Where the server is; `nil` for the embedded backend.
  var endpoint: Endpoint?

  /// Whether an `http` endpoint may be on another machine.
  var allowsCleartext = false

  /// How the server is reached.
  var transport = TransportOptions()

  /// The longest time that all requests of the run, and its waits, may take together; `nil` for the client's own limit for
  /// each request.
  var timeout: Duration?

  /// How often a timeline is asked for again where that failed in passing.
  var retries = 2

  /// Fields for each request, in the order given.
  var headers: [HTTPField] = []

  /// The token for the server.
  var token: BearerToken?

  /// The token to get another token with.
  var refreshToken: BearerToken?

  /// Where timelines and likes are kept between runs; `nil` for nowhere.
  var cacheFolder: URL?

  /// What `--policy` says.
  var givenPolicy: FetchPolicy?

  /// What is taken from the cache, and what from the server.
  var policy: FetchPolicy { givenPolicy ?? (cacheFolder == nil ? .networkOnly : .networkFirst) }

  var showsJSON = false
  var showsLikes = true
  var isVerbose = false
}

extension Arguments {
  /// Reads a command line, without the command's own name.
  ///
  /// `--help` and `--version` win over all that follows them.
  init(_ arguments: [String], environment: [String: String] = [:]) throws(UsageError) {
    var scanner = ArgumentScanner(arguments)
    var positionals: [String] = []
    while let token = try scanner.next() {
      switch token {
      case .positional(let text): positionals.append(text)
      case .option(let option, let value):
        try set(option, to: value, environment)
        if [.help, .version].contains(action) { return }
      }
    }
    action = try Self.action(positionals)
    if action.needsCache, cacheFolder == nil {
      throw UsageError("'\(positionals.first ?? "")' needs --cache-dir; name the folder that the other runs use")
    }
    if endpoint == nil, let text = environment[Endpoint.variable], !text.isEmpty {
      endpoint = try Endpoint(text, from: Endpoint.variable)
    }
    if !allowsCleartext { try endpoint?.checkCleartext() }
    try checkHeaders()
    try transport.check()
    if let text = environment[BearerToken.variable], !text.isEmpty {
      token = try BearerToken(text)
    }
    if let text = environment[BearerToken.refreshVariable], !text.isEmpty {
      refreshToken = try BearerToken(text, from: BearerToken.refreshVariable)
    }
  }

  private mutating func set(
    _ option: Option, to value: String, _ environment: [String: String]
  ) throws(UsageError) {
    switch option {
    case .user:
      guard !value.isEmpty else { throw UsageError("--user is empty; give a user's id, such as --user 0") }
      userID = value
    case .endpoint: endpoint = try Endpoint(value, from: "--endpoint")
    case .timeout: timeout = try Timeout.duration(value)
    case .retries: retries = try Self.retries(value)
    case .transport:
      guard let kind = TransportOptions.Kind(rawValue: value) else {
        throw UsageError("--transport is '\(value)'; it is socket or urlsession")
      }
      transport.kind = kind
    case .ca: transport.authority = try Self.path(value, environment)
    case .cert: transport.certificate = try Self.path(value, environment)
    case .key: transport.key = try Self.path(value, environment)
    case .allowCleartext: allowsCleartext = true
    case .header: headers.append(try HTTPField(argument: value))
    case .policy: givenPolicy = try Self.policy(value)
    case .cacheDir:
      guard !value.isEmpty else { throw UsageError("--cache-dir is empty; name a folder, such as ~/.cache/moments") }
      cacheFolder = URL(fileURLWithPath: try Self.path(value, environment), isDirectory: true)
    case .json: showsJSON = true
    case .noLikes: showsLikes = false
    case .verbose: isVerbose = true
    case .help: action = .help
    case .version: action = .version
    }
  }

  /// A path whose `~` stands for the home folder, as a shell has it, though not behind `=`. Any other name that begins with
  /// one is taken as it is, which Foundation would look up.
  private static func path(_ text: String, _ environment: [String: String]) throws(UsageError) -> String {
    guard text.hasPrefix("~") else { return text }
    guard text == "~" || text.hasPrefix("~/") else { return "./\(text)" }
    guard let home = environment["HOME"], !home.isEmpty else {
      throw UsageError("'\(text)' needs HOME, which is not set; write the whole path")
    }
    return home + text.dropFirst()
  }

  private static func policy(_ text: String) throws(UsageError) -> FetchPolicy {
    if let policy = FetchPolicy(rawValue: text) { return policy }
    let names = FetchPolicy.allCases.map(\.rawValue).joined(separator: ", ")
    throw UsageError("--policy is '\(text)'; it is one of \(names)")
  }

  private static func retries(_ text: String) throws(UsageError) -> Int {
    guard let value = UInt8(text), value <= 10, !text.hasPrefix("+") else {
      throw UsageError("--retries is '\(text)', which is no number from 0 to 10")
    }
    return Int(value)
  }

  private static func action(_ positionals: [String]) throws(UsageError) -> Action {
    guard let command = positionals.first else { return .timeline }
    let operands = positionals.dropFirst()
    switch command {
    case "timeline":
      guard let extra = operands.first else { return .timeline }
      throw UsageError("'timeline' takes no argument, yet there is '\(extra)'; name a user with --user")
    case "like", "unlike":
      guard let momentID = operands.first, !momentID.isEmpty else {
        throw UsageError("'\(command)' needs the id of a moment; 'moments timeline' shows the ids")
      }
      guard operands.count == 1 else {
        throw UsageError("'\(command)' takes one moment, yet there is also '\(operands.dropFirst().first ?? "")'")
      }
      return .updateLike(command == "like", momentID: momentID)
    case "cache": return try action(of: command, operands, ["stats": .cacheStatistics, "clear": .clearCache])
    case "outbox":
      switch operands.first {
      case "drop": return .drop(id: try id(operands))
      case "retry": return .retry(id: try id(operands))
      default:
        let actions: KeyValuePairs = ["list": Action.listOutbox, "flush": .flushOutbox]
        return try action(of: command, operands, actions, or: "drop", "retry")
      }
    default:
      throw UsageError("there is no command '\(command)'; it is timeline, like, unlike, cache or outbox")
    }
  }

  /// The id that stands after a word such as `drop`.
  private static func id(_ operands: ArraySlice<String>) throws(UsageError) -> String {
    guard operands.count == 2, let id = operands.last, !id.isEmpty else {
      throw UsageError("'outbox \(operands.first ?? "")' needs one id; 'moments outbox list' shows the ids")
    }
    return id
  }

  private static func action(
    of command: String, _ operands: ArraySlice<String>, _ actions: KeyValuePairs<String, Action>,
    or others: String...
  ) throws(UsageError) -> Action {
    guard operands.count == 1, let action = actions.first(where: { $0.key == operands.first })?.value else {
      let words = actions.map(\.key) + others
      throw UsageError("'\(command)' needs one word: \(words.joined(separator: " or "))")
    }
    return action
  }
}
