import Foundation
import HTTP
import Models
import Networking
import Repository
import Streams

/// One run of the command: what is asked for, and how it is done.
@main
struct MomentsCommand {
  let arguments: Arguments
  let environment: [String: String]
  let interrupt: Interrupt

  static func main() async {
    Output.prepare()
    let interrupt = Interrupt()
    do {
      let environment = ProcessInfo.processInfo.environment
      let arguments = try Arguments(commandLine(), environment: environment)
      try await MomentsCommand(arguments: arguments, environment: environment, interrupt: interrupt).run()
    } catch {
      // Where standard error is gone, the exit code still tells.
      try? Output.standardError.write("\(ErrorLine(error))\n")
      exit(ExitCode(error).rawValue)
    }
  }

  private static func commandLine() throws(UsageError) -> [String] {
    var texts: [String] = []
    for (position, argument) in CommandLine.argumentBytes.enumerated().dropFirst() {
      guard let text = String(validating: argument, as: UTF8.self) else {
        throw UsageError("argument \(position) is not valid UTF-8")
      }
      texts.append(text)
    }
    return texts
  }

  private func run() async throws {
    switch arguments.action {
    case .help: try Output.standardOutput.write(Help.text)
    case .version: try Output.standardOutput.write(Help.version)
    case .timeline:
      let details = try await answer(repository().getMoments(userID: arguments.userID))
      try show(details) { $0.timeline(details) }
    case .updateLike(let isLiked, let momentID):
      let update = try repository().updateLike(isLiked: isLiked, momentID: momentID, fromUserID: arguments.userID)
      let details = try await answer(update)
      guard let moment = details.moments.first(where: { $0.id == momentID }) else {
        throw RequestError(.undecodable, "The answer does not hold the moment '\(momentID)'.")
      }
      try show(details) { $0.moment(moment) }
    }
  }

  /// The one element of a stream, unless Ctrl-C comes first.
  private func answer(_ stream: Observable<MomentsDetails>) async throws -> MomentsDetails {
    try await interrupt.value(of: Task { try await stream.value })
  }

  private func show(_ details: MomentsDetails, _ draw: (TimelineRenderer) -> String) throws {
    guard !arguments.showsJSON else { return try Output.standardOutput.write(JSONOutput.text(details)) }
    let terminal = Terminal(descriptor: Output.standardOutput.descriptor, environment: environment)
    try Output.standardOutput.write(draw(TimelineRenderer(columns: terminal.columns, style: terminal.style, now: now)))
  }

  private func repository() throws(RequestError) -> MomentsRepo {
    let withLikes: @Sendable () -> Bool = { [showsLikes = arguments.showsLikes] in showsLikes }
    guard let endpoint = arguments.endpoint else {
      let backend = EmbeddedBackend(.sample(now: now), withLikes: withLikes)
      return MomentsRepo(getMomentsByUserIDSession: backend, updateMomentLikeSession: backend)
    }
    let client = try client(for: endpoint)
    return MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client, withLikes: withLikes),
      updateMomentLikeSession: UpdateMomentLikeSession(client: client, withLikes: withLikes))
  }

  private func client(for endpoint: Endpoint) throws(RequestError) -> APIClient {
    var client = try APIClient(
      baseURL: endpoint.url, transport: arguments.transport.transport(), defaultHeaders: .platform(name: "moments"),
      allowsCleartext: arguments.allowsCleartext)
    let given = GivenHeadersMiddleware(fields: arguments.headers)
    var logging: [any HTTPMiddleware] = []
    if arguments.isVerbose {
      let log: @Sendable (String) -> Void = { try? Output.standardError.write($0.harmless() + "\n") }
      logging = [LoggingMiddleware(detail: .headers, log: log)]
      client.observer = AttemptLog(log: log)
    }
    if let timeout = arguments.timeout {
      // The other deadlines must not come before the one that was asked for.
      client.timeouts = HTTPTimeouts(connect: nil, idle: nil, total: timeout)
    }
    var tokens: RefreshedTokens?
    if let refreshToken = arguments.refreshToken {
      client.middlewares = [given] + logging
      tokens = RefreshedTokens(arguments.token, refreshToken: refreshToken, client: client)
    } else if let token = arguments.token {
      try client.defaultHeaders.set("Authorization", to: token.authorization)
    }
    client.middlewares = [given] + .standard(tokens: tokens, retries: arguments.retries) + logging
    return client
  }

  private var now: Int64 { Int64(Date().timeIntervalSince1970) }
}

extension CommandLine {
  /// The arguments as the process got them, the command's own name among them.
  fileprivate static var argumentBytes: [[UInt8]] {
    (0..<Int(argc)).compactMap { unsafeArgv[$0] }.map { text in
      Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
  }
}
