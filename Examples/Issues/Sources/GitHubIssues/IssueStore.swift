package import Foundation
package import GraphQLClient
package import Stores
package import Streams
import StrictJSON

/// Issues as an app shows them: each is kept once, on disk, and what changes it shows in all lists and views at once.
/// Reactions show before the server knows of them, and wait for the network if they must, also across restarts.
package final class IssueStore: Sendable {
  private let store: NormalizedStore
  private let outbox: Outbox<Reaction, NormalizedResponse<SetReactionSession.ResponseData>>
  /// How many issues a list has.
  private let count = 20

  /// Opens the store of an account in a folder, which is created if it does not exist.
  package init(_ client: APIClient, folder: URL, account: String) throws {
    let (issues, reactions) = (folder.appending(path: "issues"), folder.appending(path: "reactions"))
    store = try NormalizedStore(client, schema: .gitHub, folder: issues, partition: account)
    outbox = try Outbox(folder: reactions, partition: account, isIdempotent: { _ in true }) { reaction, _ in
      reaction.session.post(on: client, for: .gitHub)
    }
    store.show(outbox) { reaction in
      .of(reaction.session, optimisticResponse: [:]) { _, edits in
        try edits.update(Reactions.self, IssueReactions.document, of: .init("Issue", id: reaction.issue)) {
          $0[reaction.content] = reaction.isGiven
        }
      }
    }
  }

  // MARK: - Lists, and a view

  /// The newest issues that are open, or all with a label: a snapshot at once, then one for each change.
  package func newest(
    in repository: RepositoryName, label: String? = nil, _ policy: FetchPolicy = .cacheAndNetwork
  ) -> Observable<Snapshot<[Issue]>> {
    let session = ListIssuesSession.Session(
      owner: repository.owner, name: repository.name, states: label == nil ? .some([.open]) : .absent,
      labels: label.map { .some([$0]) } ?? .absent, first: count)
    return store.stream(session, policy).map { snapshot in
      snapshot.map { ($0.repository?.issues.nodes ?? []).compactMap { $0.map { Issue($0) } } }
    }
  }

  /// The issues that a search finds, in GitHub's language, such as `sort:reactions`.
  package func found(
    by text: String, in repository: RepositoryName, _ policy: FetchPolicy = .cacheAndNetwork
  ) -> Observable<Snapshot<[Issue]>> {
    let session = SearchIssuesSession.Session(query: "repo:\(repository) is:issue \(text)", first: count)
    return store.stream(session, policy).map { snapshot in
      snapshot.map { data in
        (data.search.nodes ?? []).compactMap { node in
          if case .issue(let issue)? = node?.kind { Issue(issue) } else { nil }
        }
      }
    }
  }

  /// An issue with its text; `nil` if the repository has none of this number.
  package func issue(
    _ number: Int, in repository: RepositoryName, _ policy: FetchPolicy = .cacheAndNetwork
  ) -> Observable<Snapshot<Issue?>> {
    let session = ShowIssueSession.Session(owner: repository.owner, name: repository.name, number: number)
    return store.stream(session, policy).map { snapshot in
      snapshot.map { data in
        data.repository?.issue.map { Issue($0.issueFields, url: $0.url, text: $0.bodyText) }
      }
    }
  }

  // MARK: - Reactions

  /// Gives a reaction to an issue, or takes it back. It shows at once; whether the server has it by now is the result.
  /// - Throws: Why the server has refused it, or the token, with which it waits for another one; or why it cannot be kept.
  package func react(_ content: ReactionContent, to issue: Issue, isGiven: Bool = true) async throws -> Bool {
    do {
      _ = try await outbox.submit(Reaction(issue: issue.id, content: content, isGiven: isGiven)).value
      return true
    } catch OutboxError.queued(let error) {
      if error.isUnauthenticated { throw error }
      return false
    }
  }

  /// Sends the reactions that wait; returns how many still do.
  package func send() async throws -> Int {
    await outbox.flush(evenDuringPause: true)
    return try outbox.entries().count
  }

  /// Closes the store, so that another may open its folder.
  package func close() async {
    await outbox.close()
    await store.close()
  }
}
