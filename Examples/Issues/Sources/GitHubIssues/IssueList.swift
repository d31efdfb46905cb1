package import GraphQLClient
import Stores
import Streams
import Synchronization

extension APIClient {
  /// Fetches a repository's issues, page by page, until there are `limit` of them or no more.
  ///
  /// `progress` is called after each page, with how many have come and how many will. A request that fails ends it with
  /// a `RequestError`.
  package func issues(
    in repository: RepositoryName, state: IssueState? = nil, labels: [String] = [], limit: Int,
    progress: (_ count: Int, _ total: Int) -> Void = { _, _ in }
  ) async throws -> [Issue] {
    let total = Atomic(0)
    let session = ListIssuesSession(client: self)
    let pager = Pager<Issue, String> { cursor in
      session.listIssues(
        owner: repository.owner, name: repository.name, states: state.map { [$0] } ?? .absent,
        labels: labels.isEmpty ? .absent : .some(labels), first: min(limit, 100), after: cursor ?? .absent
      ).map { data in
        guard let issues = data.repository?.issues else { return Page([], next: nil) }
        total.store(issues.totalCount, ordering: .relaxed)
        return Page(
          (issues.nodes ?? []).compactMap { $0.map { Issue($0) } }, hasNextPage: issues.pageInfo.hasNextPage,
          endCursor: issues.pageInfo.endCursor)
      }
    }
    var state = await pager.refreshed()
    while true {
      try Task.checkCancellation()
      if let error = state.error { throw error }
      progress(min(state.items.count, limit), min(total.load(ordering: .relaxed), limit))
      guard state.items.count < limit, state.mayHaveMore else { return Array(state.items.prefix(limit)) }
      state = await pager.loadedMore()
    }
  }
}
