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
    let (owner, name) = (api.repository.owner, api.repository.name)
    let data = try await ShowIssueSession(client: client).showIssue(owner: owner, name: name, number: number).value
    guard let shown = data.repository?.issue else {
      throw ValidationError("\(api.repository) has no issue \(number).")
    }
    let issue = Issue(shown.issueFields, url: shown.url, text: shown.bodyText)
    guard !api.json else { return try output.print(json: issue) }
    output.print(withText: issue)
  }
}

extension Output {
  /// Prints an issue with its address and its text.
  func print(withText issue: Issue) {
    print(issue.line)
    if let url = issue.url { print(url.sanitized(upTo: 500)) }
    for line in (issue.text ?? "").split(separator: "\n", omittingEmptySubsequences: false) {
      print(line.sanitized())
    }
  }
}
