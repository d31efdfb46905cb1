import BFFOperations
import Foundation
import GraphQLClientTesting
import HTTPClientCore
import Models
import Networking
import Repository
import StoresTestSupport
import Streams
import StrictJSON
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
    let pager = Pager(firstPage: 1) { number in
      GetMomentsPage(userID: "0", page: number).data(on: client).map(\.momentsPage).map {
        Page($0.datas, number: $0.curPage, isLast: $0.over)
      }
    }
    pager.refresh()
    _ = try await pager.state { $0.items.count == 20 }
    let before = try await moments(client)
    let created = try await CreateMoment(userID: "0", title: "New").post(on: client).value.data.createMoment.id
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

  @Test func `the repository's pager gives a user's whole timeline, page by page`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let pager = MomentsRepo(sessions: MomentsSessions(client: client)).pager(userID: "0", size: 25)
    let counts = Recorder(pager.states.map(\.items.count).distinctUntilChanged())
    #expect(try await pager.loadAll(60) == moments(client))
    #expect(counts.take() == [0, 25, 50, 60])
  }

  @Test func `a repository whose source has no pages gives the whole timeline as one`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let repo = MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client),
      updateMomentLikeSession: UpdateMomentLikeSession(client: client))
    let state = await repo.pager(userID: "0").refreshed()
    #expect(try await state.items == moments(client))
    guard case .noMore = state.phase else { return #expect(Bool(false), "\(state.phase)") }
  }

  @Test func `each of a repository's sessions can be replaced, and all have one toggle`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json("{}"))
    let url = try #require(URL(string: "https://example.com"))
    var sessions = try MomentsSessions(client: APIClient(baseURL: url, transport: transport), withLikes: { false })
    let asked = Mutable<[GetMomentsConnectionSession.Session.Variables]>([])
    sessions.getMomentsConnection = GetMomentsConnectionSession { session in
      asked.update { $0.append(session.variables) }
      return .error(RequestError(.cannotConnect, "Away."))
    }
    let state = await MomentsRepo(sessions: sessions).pager(userID: "7", size: 2).refreshed()
    #expect((state.error as? RequestError)?.kind == .cannotConnect)
    #expect(asked.value.map(\.userID) == ["7"])
    #expect(asked.value.map(\.first) == [2])
    _ = try? await sessions.getMomentsByUserID.getMoments(userID: "7").value
    _ = try? await sessions.updateMomentLike.updateLike(true, momentID: "1", fromUserID: "7").value
    let toggles = try transport.requests.map { request in
      try JSONValue(json: (request.body ?? Data()).bytes)["variables"]?["withLikes"]?.boolValue
    }
    #expect(toggles == [false, false])
  }

  @Test func `a page that the server refuses is a failure, which keeps what is there`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let userID = Mutable("0")
    let pager = Pager(firstPage: 1) { number in
      GetMomentsPage(userID: userID.value, page: number).data(on: client).map(\.momentsPage).map {
        Page($0.datas, number: $0.curPage, isLast: $0.over)
      }
    }
    pager.refresh()
    _ = try await pager.state { $0.items.count == 20 }
    userID.update { $0 = "404" }
    pager.loadMore()
    let state = try await pager.state { if case .failed = $0.phase { true } else { false } }
    guard case .failed(let error) = state.phase else { return }
    #expect(RequestError(wrapping: error).kind == .graphQL)
    #expect(state.items.count == 20)
  }
}
