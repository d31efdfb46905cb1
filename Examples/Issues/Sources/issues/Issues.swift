import ArgumentParser
import Foundation
import GitHubIssues
import GraphQLClient
import HTTPClientCore
import StrictJSON

@main
struct Issues: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reads the issues of a repository from GitHub's GraphQL API, and reacts to them.",
    discussion: "The token comes from the environment variable GITHUB_TOKEN: others can see arguments.",
    subcommands: [List.self, Show.self, Browse.self, React.self])
}

/// A command that asks the API for something, and prints it.
protocol APICommand: AsyncParsableCommand {
  var api: APIOptions { get }

  /// What the command does, on any client: tests call it with one that has no network.
  func run(on client: APIClient, to output: Output) async throws
}

extension APICommand {
  func run() async throws {
    try await run(on: api.client(), token: APIOptions.environmentToken, to: .standard)
  }

  /// Does what the command does; if the API refuses the token, or that there is none, the error says how to set one.
  func run(on client: APIClient, token: String?, to output: Output) async throws {
    do {
      try await run(on: client, to: output)
    } catch let error as RequestError where error.isUnauthenticated {
      throw TokenRefusal(isMissing: token == nil)
    }
  }
}

/// The API wants another token.
struct TokenRefusal: Error, CustomStringConvertible {
  let isMissing: Bool

  var description: String {
    (isMissing ? "The API wants a token" : "The API has refused the token in GITHUB_TOKEN")
      + ": make one at https://github.com/settings/tokens, and set GITHUB_TOKEN to it."
  }
}

/// What all commands have in common.
struct APIOptions: ParsableArguments {
  @Argument(help: "The repository, such as swiftlang/swift.", transform: { try RepositoryName(validating: $0) })
  var repository: RepositoryName

  @Flag(help: "Print JSON.")
  var json = false

  @Option(help: "The address of the API, for GitHub Enterprise.")
  var endpoint = "https://api.github.com/graphql"

  /// The token of the environment; `nil` if there is none, or an empty one.
  static var environmentToken: String? { token(in: ProcessInfo.processInfo.environment) }

  static func token(in environment: [String: String]) -> String? {
    environment["GITHUB_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// A client with retries, deadlines and rate limits, and a token, if there is one.
  func client(
    transport: some HTTPTransport = .platform(), token: String? = environmentToken
  ) throws -> APIClient {
    guard let url = URL(string: endpoint), ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false else {
      throw ValidationError("--endpoint '\(endpoint)' is no URL of http or https.")
    }
    do {
      var client = try APIClient(baseURL: url, transport: transport, middlewares: .standard())
      if let token { try client.defaultHeaders.set("Authorization", to: "Bearer \(token)") }
      return client
    } catch {
      throw ValidationError("--endpoint or GITHUB_TOKEN: \(error.message)")
    }
  }
}

extension RepositoryName {
  fileprivate init(validating text: String) throws {
    guard let name = RepositoryName(text) else { throw ValidationError("'\(text)' is not OWNER/NAME.") }
    self = name
  }
}

/// Where a command prints.
struct Output: Sendable {
  /// Prints a line.
  let print: @Sendable (String) -> Void
  /// Shows how much of a list has come; `nil` where nobody would see it.
  let progress: ProgressBar?

  static let standard = Output(print: { Swift.print($0) }, progress: ProgressBar(.standardError))

  /// Prints values as JSON, a member a line.
  func print(json value: some Encodable) throws {
    let text = try JSONCoder().encode(value)
    print(try RawJSON(json: String(decoding: text, as: UTF8.self)).indented)
  }
}
