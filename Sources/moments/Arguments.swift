import CommandLineBase
import HTTPClientCore
import Repository
import SocketHTTP
import SystemBase

/// The settings from the command line and the environment.
struct Arguments: Equatable, Sendable {
  /// What the command does.
  enum Action: Equatable, Sendable {
    case help
    case version
    case timeline
    case watch
    case updateLike(Bool, momentID: String)
    case postPhoto(path: String)
    case cacheStatistics
    case clearCache
    case listOutbox
    case flushOutbox
    case discard(id: String)
    case retry(id: String)

    /// Whether the command acts on existing data on disk.
    var needsCache: Bool {
      switch self {
      case .cacheStatistics, .clearCache, .listOutbox, .flushOutbox, .discard, .retry: true
      case .help, .version, .timeline, .watch, .updateLike, .postPhoto: false
      }
    }
  }

  var action = Action.timeline

  /// The user whose timeline is shown, or who likes.
  var userID = "0"

  /// The server's endpoint; `nil` for the embedded backend.
  var endpoint: Endpoint?

  /// Whether an `http` endpoint may be on another machine.
  var allowsCleartext = false

  /// The transport and its TLS settings.
  var transport = TransportOptions()

  /// The greatest time for all requests and pauses of the run together; `nil` for the client's own limit on each
  /// request.
  var timeout: Duration?

  /// How `watch` hears of likes.
  var live: LiveKind?

  /// After how many timelines `watch` ends; `nil` for never.
  var count: Int?

  /// After which time `watch` ends; `nil` for never.
  var duration: Duration?

  /// The text above a photo.
  var title: String?

  /// How often to retry after transient failures.
  var retries = 2

  /// Header fields for each request, in the order given.
  var headers: [HTTPField] = []

  /// The token for the server.
  var token: BearerToken?

  /// The refresh token.
  var refreshToken: BearerToken?

  /// The folder of timelines and likes kept between runs; `nil` for none.
  var cacheFolder: URL?

  /// The policy given by `--policy`.
  var givenPolicy: FetchPolicy?

  /// The policy in effect.
  var policy: FetchPolicy { givenPolicy ?? (cacheFolder == nil ? .networkOnly : .networkFirst) }

  var showsJSON = false
  var showsLikes = true
  var isVerbose = false
}

extension Arguments {
  /// Parses a command line, without the command's own name.
  ///
  /// Nothing after `--help` or `--version` is parsed.
  init(_ arguments: [String], environment: [String: String] = [:]) throws(UsageError) {
    var scanner = ArgumentScanner<Option>(arguments, of: "moments")
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
    try checkWatch()
    try checkPhoto()
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

  private func checkWatch() throws(UsageError) {
    if action == .watch {
      guard live != .ws || transport.kind != .urlsession else {
        throw UsageError("--live ws does not go with --transport urlsession; use --live sse")
      }
      return
    }
    for (name, isGiven) in [("--live", live != nil), ("--count", count != nil), ("--for", duration != nil)]
    where isGiven {
      throw UsageError("\(name) goes with 'watch' only")
    }
  }

  private func checkPhoto() throws(UsageError) {
    guard case .postPhoto(let path) = action else {
      if title != nil { throw UsageError("--title goes with 'post-photo' only") }
      return
    }
    guard path != "-" else { throw UsageError("'post-photo' takes a file; standard input cannot be sent") }
    guard transport.kind != .urlsession else {
      throw UsageError("'post-photo' does not go with --transport urlsession, which cannot send files")
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
    case .live:
      guard let kind = LiveKind(rawValue: value) else {
        throw UsageError("--live is '\(value)'; it is \(LiveKind.names)")
      }
      live = kind
    case .count:
      guard let number = Int(value), number > 0, !value.hasPrefix("+") else {
        throw UsageError("--count is '\(value)', which is no number of timelines from 1")
      }
      count = number
    case .duration: duration = try Timeout.duration(value, of: "--for")
    case .title: title = value
    case .retries: retries = try Self.retries(value)
    case .transport:
      guard let kind = TransportOptions.Kind(rawValue: value) else {
        throw UsageError("--transport is '\(value)'; it is socket or urlsession")
      }
      transport.kind = kind
    case .http:
      switch value {
      case "1.1": transport.versions = .http1
      case "2": transport.versions = .priorKnowledge
      default: throw UsageError("--http is '\(value)'; it is 1.1 or 2")
      }
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

  /// Replaces a leading `~` by the home folder, since a shell does not do so after `=`. Any other name that begins with
  /// `~` is taken literally; Foundation would look up a user.
  private static func path(_ text: String, _ environment: [String: String]) throws(UsageError) -> String {
    guard text.hasPrefix("~") else { return text }
    guard text == "~" || text.hasPrefix("~/") else { return "./\(text)" }
    guard let home = environment["HOME"], !home.isEmpty else {
      throw UsageError("'\(text)' needs HOME, which is not set; write the whole path")
    }
    return home + text.dropFirst()
  }

  private static func policy(_ text: String) throws(UsageError) -> FetchPolicy {
    // A run ends with its value, before a refresh behind it could.
    let policies = FetchPolicy.allCases.filter { $0 != .staleWhileRevalidate }
    if let policy = policies.first(where: { $0.rawValue == text }) { return policy }
    let names = policies.map(\.rawValue).joined(separator: ", ")
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
    case "watch":
      guard let extra = operands.first else { return .watch }
      throw UsageError("'watch' takes no argument, yet there is '\(extra)'; name a user with --user")
    case "like", "unlike":
      guard let momentID = operands.first, !momentID.isEmpty else {
        throw UsageError("'\(command)' needs the id of a moment; 'moments timeline' shows the ids")
      }
      guard operands.count == 1 else {
        throw UsageError("'\(command)' takes one moment, yet there is also '\(operands.dropFirst().first ?? "")'")
      }
      return .updateLike(command == "like", momentID: momentID)
    case "post-photo":
      guard let path = operands.first, !path.isEmpty else {
        throw UsageError("'post-photo' needs a file, such as holiday.jpg")
      }
      guard operands.count == 1 else {
        throw UsageError("'post-photo' takes one file, yet there is also '\(operands.dropFirst().first ?? "")'")
      }
      return .postPhoto(path: path)
    case "cache": return try action(of: command, operands, ["stats": .cacheStatistics, "clear": .clearCache])
    case "outbox":
      switch operands.first {
      case "discard": return .discard(id: try id(operands))
      case "retry": return .retry(id: try id(operands))
      default:
        let actions: KeyValuePairs = ["list": Action.listOutbox, "flush": .flushOutbox]
        return try action(of: command, operands, actions, or: "discard", "retry")
      }
    default:
      throw UsageError(
        "there is no command '\(command)'; it is timeline, watch, like, unlike, post-photo, cache or outbox")
    }
  }

  /// The id after a word such as `discard`.
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

/// The command's options, which begin with two dashes.
enum Option: String, CommandOption, CaseIterable {
  case user, endpoint, timeout, retries, header
  case transport, http, ca, cert, key
  case policy
  case live, count, title
  case duration = "for"
  case cacheDir = "cache-dir"
  case json, verbose, help, version
  case noLikes = "no-likes"
  case allowCleartext = "allow-cleartext"

  var takesValue: Bool {
    switch self {
    case .user, .endpoint, .timeout, .retries, .header, .transport, .http, .ca, .cert, .key, .policy,
      .cacheDir, .live, .count, .duration, .title:
      true
    case .json, .verbose, .help, .version, .noLikes, .allowCleartext: false
    }
  }

  var isRepeatable: Bool { !takesValue || self == .header }
}

/// How `watch` hears of likes.
enum LiveKind: String, CaseIterable, Sendable {
  case ws, sse, multipart

  static var names: String { "ws, sse or multipart" }
}
