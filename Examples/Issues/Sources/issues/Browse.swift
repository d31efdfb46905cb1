import ArgumentParser
import Foundation
import GitHubIssues
import GraphQLClient
import HTTPClientCore
import Stores
import Streams

struct Browse: APICommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the newest issues, those with a label, and those with the most reactions.",
    discussion: "Without a network, it shows what it has shown before.")

  @OptionGroup var api: APIOptions
  @OptionGroup var cache: CacheOptions

  @Option(help: "The label of the second list.")
  var label = "bug"

  @Option(help: "The number of an issue that is shown with its text, too.")
  var issue: Int?

  /// All that is shown.
  private struct Overview: Encodable {
    let newest, labelled, mostReactions: [Issue]
    let issue: Issue?
    let waitingReactions: Int
  }

  func run(on client: APIClient, to output: Output) async throws {
    try await cache.withStore(client) { store in
      let waiting = try await store.send()
      let overview = Overview(
        newest: try await store.newest(in: api.repository, .networkFirst).settled(),
        labelled: try await store.newest(in: api.repository, label: label, .networkFirst).settled(),
        mostReactions: try await store.found(by: "sort:reactions", in: api.repository, .networkFirst).settled(),
        issue: try await shown(by: store), waitingReactions: waiting)
      guard !api.json else { return try output.print(json: overview) }
      let lists = [
        ("Newest", overview.newest), (label, overview.labelled), ("Most reactions", overview.mostReactions),
      ]
      for (name, issues) in lists {
        output.print("\(name):".sanitized(upTo: 100))
        for issue in issues { output.print("  " + issue.line) }
      }
      if let issue = overview.issue { output.print(withText: issue) }
      if waiting > 0 { output.print("Reactions that wait for the network: \(waiting)") }
    }
  }

  private func shown(by store: IssueStore) async throws -> Issue? {
    guard let issue else { return nil }
    return try await store.issue(issue, in: api.repository, .networkFirst).settled()
  }
}

/// Where issues are kept.
struct CacheOptions: ParsableArguments {
  @Option(help: "The folder in which issues and reactions are kept.")
  var folder = URL.homeDirectory.appending(path: ".cache/issues").path(percentEncoded: false)

  @Option(help: "A name for the account of the token: each has a cache of its own.")
  var account = "default"

  func validate() throws {
    guard !folder.isEmpty else { throw ValidationError("--folder is the path of a folder.") }
  }

  /// Opens the store, and closes it at the end.
  func withStore(_ client: APIClient, _ body: (IssueStore) async throws -> Void) async throws {
    let store: IssueStore
    do {
      store = try IssueStore(client, folder: URL(filePath: folder), account: account)
    } catch let error as FileError {
      throw ValidationError("--folder '\(folder)': \(error). Name one that can be written.")
    }
    do {
      try await body(store)
    } catch {
      await store.close()
      throw error
    }
    await store.close()
  }
}

extension Observable {
  /// The value when no request is in flight.
  func settled<Value: Sendable>() async throws -> Value where Element == Snapshot<Value> {
    try await filter { !$0.isFetching }.value.requireValue()
  }
}
