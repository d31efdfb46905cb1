import ArgumentParser
import GitHubIssues
import GraphQLClient
import HTTPClientCore
import Streams

struct Show: APICommand {
  static let configuration = CommandConfiguration(abstract: "Shows an issue with its text.")

  @OptionGroup var api: APIOptions

  @Argument(help: "The number of the issue.")
  var number: Int

  func run(on client: APIClient, to output: Output) async throws {
    guard let (issue, url, text) = try await ShowIssue(number, in: api.repository).data(on: client).value.details else {
      throw ValidationError("\(api.repository) has no issue \(number).")
    }
    guard !api.json else { return try output.print(json: issue) }
    output.print(issue.line)
    output.print(url.sanitized(upTo: 500))
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) { output.print(line.sanitized()) }
  }
}
