import ArgumentParser
import GitHubIssues
import GraphQLClient
import Stores

struct React: APICommand {
  static let configuration = CommandConfiguration(
    abstract: "Reacts to an issue.",
    discussion: "Without a network, the reaction is kept, and sent by the next command that has one: react or browse.")

  @OptionGroup var api: APIOptions
  @OptionGroup var cache: CacheOptions

  @Argument(help: "The number of the issue.")
  var number: Int

  @Argument(help: "The reaction.")
  var reaction: ReactionContent

  @Flag(help: "Take the reaction back.")
  var remove = false

  func run(on client: APIClient, to output: Output) async throws {
    try await cache.withStore(client) { store in
      func issue(_ policy: FetchPolicy) async throws -> Issue {
        guard let issue = try await store.issue(number, in: api.repository, policy).settled() else {
          throw ValidationError("\(api.repository) has no issue \(number).")
        }
        return issue
      }
      let isSent = try await store.react(reaction, to: issue(.cacheFirst), isGiven: !remove)
      let shown = try await issue(.cacheOnly)
      guard !api.json else { return try output.print(json: shown) }
      output.print(shown.line)
      if !isSent { output.print("The reaction waits for the network.") }
    }
  }
}

extension ReactionContent: ExpressibleByArgument {
  init?(argument: String) {
    guard let content = Self.allCases.first(where: { $0.name == argument }) else { return nil }
    self = content
  }

  static var allValueStrings: [String] { allCases.map(\.name) }
}
