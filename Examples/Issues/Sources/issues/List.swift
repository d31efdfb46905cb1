import ArgumentParser
import GitHubIssues
import GraphQLClient
import HTTPClientCore

struct List: APICommand {
  static let configuration = CommandConfiguration(abstract: "Lists issues, the newest first.")

  @OptionGroup var api: APIOptions

  @Option(help: "Only those in this state; all by default.")
  var state: State?

  @Option(name: .customLong("label"), help: "Only those with this label; may be repeated.")
  var labels: [String] = []

  @Option(help: "How many at most.")
  var limit = 100

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
  }

  func run(on client: APIClient, to output: Output) async throws {
    defer { output.progress?.end() }
    let issues = try await client.issues(
      in: api.repository, state: state?.value, labels: labels, limit: limit,
      progress: { output.progress?.show($0, of: $1) })
    output.progress?.end()
    guard !api.json else { return try output.print(json: issues) }
    for issue in issues { output.print(issue.line) }
  }
}

/// A state as an argument; completion scripts offer its values.
enum State: String, ExpressibleByArgument, CaseIterable {
  case open, closed

  var value: IssueState { self == .open ? .open : .closed }
}

extension Issue {
  /// The issue on one line. What others have written may not control the terminal.
  var line: String {
    let labels = labels.isEmpty ? "" : "  [\(labels.joined(separator: ", "))]"
    let state = state.value == .closed ? " (closed)" : ""
    let reactions = reactions.sorted { $0.key < $1.key }.map { name, count in
      ", \(count) \(name)" + (ownReactions.contains(name) ? " (yours, too)" : "")
    }
    return "#\(number)\(state)  \(title)\(labels)  \(author ?? "ghost"), \(comments) comments\(reactions.joined())"
      .sanitized(upTo: 500)
  }
}
