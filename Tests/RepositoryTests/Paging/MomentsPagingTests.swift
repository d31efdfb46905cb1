import BFFOperations
import Foundation
import HTTP
import Models
import Networking
import Repository
import Streams
import TestSupport
import Testing

extension Pager {
  /// Waits for a state.
  fileprivate func state(where isWanted: @escaping @Sendable (PagerState<Item>) -> Bool) async throws -> PagerState<
    Item
  > {
    try await states.filter(isWanted).value
  }

  /// Loads page after page until there is no more, and waits for a number of rows.
  fileprivate func loadAll(_ count: Int) async throws -> [Item] {
    let loading = states.subscribe(onNext: { [weak self] state in
      if case .idle = state.phase { self?.loadMore() }
    })
    defer { loading.dispose() }
    return try await state { state in
      if case .noMore = state.phase { state.items.count == count } else { false }
    }.items
  }
}

@Suite struct MomentsPagingTests {
  private func moments(_ client: APIClient) async throws -> [MomentsDetails.Moment] {
    try await GetMomentsByUserIDSession(client: client).getMoments(userID: "0").value.moments
  }

  @Test func `a timeline by page numbers is the whole one, and rows that shift are shown once`() async throws {
    let server = try await BFFServer.start()
    let client = try APIClient(baseURL: server.graphqlURL)
    let session = GetMomentsPageSession(client: client)
    let pager = Pager(firstPage: 1) { number in
      session.getMomentsPage(userID: "0", page: number).map { Page($0.datas, number: $0.curPage, isLast: $0.over) }
    }
    pager.refresh()
    _ = try await pager.state { $0.items.count == 20 }
    let before = try await moments(client)
    let created = try await CreateMoment(userID: "0", title: "New").post(on: client).value.data?.createMoment.id
    #expect(try await pager.loadAll(60) == before)
    pager.refresh()
    let all = try await pager.loadAll(61)
    #expect(try await all == moments(client))
    #expect(all.first?.id == created)
    try await server.stop()
  }

  @Test func `a timeline by cursors is the whole one`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let session = GetMomentsConnectionSession(client: client)
    let pager = Pager { cursor in
      session.getMoments(userID: "0", first: 25, after: cursor).map {
        Page($0.edges.map(\.node), hasNextPage: $0.pageInfo.hasNextPage, endCursor: $0.pageInfo.endCursor)
      }
    }
    let counts = Recorder(pager.states.map(\.items.count).distinctUntilChanged())
    #expect(try await pager.loadAll(60) == moments(client))
    #expect(counts.take() == [0, 25, 50, 60])
  }

  @Test func `a page that the server refuses is a failure, which keeps what is there`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let session = GetMomentsPageSession(client: client)
    let userID = Mutable("0")
    let pager = Pager(firstPage: 1) { number in
      session.getMomentsPage(userID: userID.value, page: number).map {
        Page($0.datas, number: $0.curPage, isLast: $0.over)
      }
    }
    pager.refresh()
    _ = try await pager.state { $0.items.count == 20 }
    userID.update { $0 = "404" }
    pager.loadMore()
    let state = try await pager.state { if case .failed = $0.phase { true } else { false } }
    guard case .failed(let error) = state.phase else { return }
    #expect(RequestError(wrapping: error).kind == .graphQL && state.items.count == 20)
  }
}
