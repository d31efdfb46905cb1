import Foundation
import GraphQLClient
import HTTPClientCore
import Models
import StoresTestSupport
import Streams
import StrictJSON
import TestSupport
import Testing

@testable import Repository
@testable import Stores

/// A repository on a normalised store, at a server that a test answers for.
private struct World {
  let server = QuietServer()
  let withLikes = Mutable(true)
  let store: NormalizedStore
  let repo: NormalizedMomentsRepo
  let outbox: NormalizedMomentsRepo.LikeOutbox?

  init(in folder: TemporaryFolder? = nil) throws {
    let client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: server)
    if let folder {
      store = try NormalizedStore(
        client, schema: .moments, folder: folder.url.appending(path: "records"), partition: "0")
      outbox = try Outbox(folder: folder.url.appending(path: "outbox"), partition: "0", client: client)
    } else {
      (store, outbox) = (NormalizedStore(client, schema: .moments), nil)
    }
    repo = NormalizedMomentsRepo(store, outbox: outbox, withLikes: { [withLikes] in withLikes.value })
  }

  /// Brings the timeline of user 0.
  func load(_ moments: JSONValue...) async throws {
    let get = Recorder(repo.getMoments(userID: "0"))
    server.last.data(timeline(moments, in: "getMomentsDetailsByUserID"))
    try await get.waitForCompletion()
  }

  /// A pager of the moments of user 0, with one page.
  func loadPages(_ moments: JSONValue...) async throws -> ConnectionPager<MomentsDetails.Moment, String> {
    let pages = repo.connection(userID: "0", size: 2)
    pages.refresh()
    server.last.data(page(moments))
    try await eventually { !pages.state.items.isEmpty }
    return pages
  }

  func like(_ userID: String, _ isLiked: Bool = true) -> Recorder<MomentsDetails> {
    Recorder(repo.updateLike(isLiked: isLiked, momentID: "m", fromUserID: userID))
  }

  /// Answers the request of a like as the server does, that is, without likes if they were not requested.
  func answer(_ request: QuietServer.Request, _ likers: [String], isLiked: Bool = false) {
    let withLikes = request["variables"]?["withLikes"] == true
    request.data(timeline([moment(likers, isLiked: isLiked, withLikes: withLikes)], in: "updateMomentLike"))
  }

  /// The moments of the timeline that is cached.
  var hearts: [String]? {
    Recorder(repo.getMoments(userID: "0", policy: .cacheOnly)).elements.value.last?.value?.moments.map(\.hearts)
  }

  func wait(forRequests count: Int) async throws { try await server.wait(for: count) }

  /// The next request fails, and so waits in the outbox.
  func leaveWaiting(_ like: Recorder<MomentsDetails>) async throws {
    try await eventually { server.requests.value.last?.name == "updateMomentLike" }
    server.last.observer.onError(RequestError(.cannotConnect, "There is no network.", reached: .never))
    try await like.waitForEnd()
  }

  func close() async {
    await outbox?.close()
    await store.close()
  }
}

extension MomentsDetails.Moment {
  /// Its likers, and whether its timeline's owner is one.
  fileprivate var hearts: String {
    (isLiked == true ? "♥" : "") + (likes.map { $0.map(\.id).joined(separator: ",") } ?? "?")
  }
}

private func user(_ id: String) -> JSONValue {
  ["__typename": "UserDetails", "id": .string(id), "name": "name", "avatar": .string("avatar \(id)")]
}

/// The moment `m`, unless it has another id.
private func moment(
  _ likers: [String], isLiked: Bool = false, id: String = "m", author: String = "0", withLikes: Bool = true
) -> JSONValue {
  var moment: [String: JSONValue] = [
    "__typename": "Moment", "id": .string(id), "userDetails": user(author), "type": "PHOTOS", "title": "title",
    "url": .null, "photos": [], "createdDate": "1",
  ]
  if withLikes {
    moment["isLiked"] = .bool(isLiked)
    moment["likes"] = .array(likers.map(user))
  }
  return .object(moment)
}

private func timeline(_ moments: [JSONValue], in field: String) -> String {
  var owner = user("0")
  if case .object(var members) = owner {
    members["backgroundImage"] = "image"
    owner = .object(members)
  }
  return text([field: ["__typename": "MomentsDetails", "userDetails": owner, "moments": .array(moments)]])
}

private func page(_ moments: [JSONValue]) -> String {
  let edges = moments.map { ["__typename": "MomentEdge", "cursor": "c", "node": $0] as JSONValue }
  let info: JSONValue = [
    "__typename": "PageInfo", "hasNextPage": false, "hasPreviousPage": false, "startCursor": "c", "endCursor": "c",
  ]
  return text([
    "momentsConnection": [
      "__typename": "MomentConnection", "totalCount": 1, "edges": .array(edges), "pageInfo": info,
    ]
  ])
}

private func text(_ data: JSONValue) -> String { (try? data.json()).map { String(decoding: $0, as: UTF8.self) } ?? "" }

/// Likes of user 0's moment `m`.
@Suite(.timeLimit(.minutes(1))) struct NormalizedLikeTests {
  private let folder = TemporaryFolder()

  // MARK: Without likes

  @Test func `a like stays once the server has it, also if likes are not requested meanwhile`() async throws {
    let world = try World()
    try await world.load(moment(["1"]))
    let watching = Recorder(world.repo.momentsDetails(userID: "0").map { $0.moments[0].hearts }.distinctUntilChanged())
    world.withLikes.update { $0 = false }
    let like = world.like("2")
    world.answer(world.server.last, ["1", "2"])
    #expect(like.isCompleted.value)
    #expect(watching.take() == ["1", "1,2"])
  }

  @Test(arguments: [false, true])
  func `a like that was in an outbox stays, also if likes are toggled while it is sent`(isLate: Bool) async throws {
    let world = try World(in: folder)
    try await world.load(moment(["1"]))
    let watching = Recorder(world.repo.momentsDetails(userID: "0").map { $0.moments[0].hearts }.distinctUntilChanged())
    world.withLikes.update { $0 = isLate }
    let like = world.like("2")
    try await world.wait(forRequests: 2)
    world.withLikes.update { $0 = !isLate }
    world.answer(world.server.last, ["1", "2"])
    try await like.waitForCompletion()
    #expect(watching.take() == ["1", "1,2"])
    await world.close()
  }

  // MARK: In pages only

  @Test func `an own like of a moment that is only in pages shows the heart`() async throws {
    let world = try World()
    let pages = try await world.loadPages(moment(["1"]))
    let (own, other) = (world.like("0"), world.like("2"))
    #expect(pages.state.items.map(\.hearts) == ["♥1,0,2"])
    own.dispose()
    #expect(pages.state.items.map(\.hearts) == ["1,2"])
    withExtendedLifetime(other) {}
  }

  @Test func `an own like shows the heart in the timeline of who likes alone, also if others have written the moment`()
    async throws
  {
    let world = try World()
    let pages = try await world.loadPages(moment([], author: "1"))
    let author = world.like("1")
    #expect(pages.state.items.map(\.hearts) == ["1"])
    let owner = world.like("0")
    #expect(pages.state.items.map(\.hearts) == ["♥1,0"])
    withExtendedLifetime((author, owner)) {}
  }

  @Test func `an own like that waits shows the heart after a restart, with pages that were there, and that come later`()
    async throws
  {
    let first = try World(in: folder)
    _ = try await first.loadPages(moment(["1"]))
    try await first.leaveWaiting(first.like("0"))
    await first.close()
    let world = try World(in: folder)
    let pages = world.repo.connection(userID: "0", size: 2)
    #expect(pages.state.items.map(\.hearts) == ["♥1,0"])
    try await world.store.clear()
    pages.refresh()
    try await world.wait(forRequests: 1)
    world.server.last.data(page([moment(["2"])]))
    try await eventually { !pages.state.items.isEmpty }
    #expect(pages.state.items.map(\.hearts) == ["♥2,0"])
    await world.close()
  }

  // MARK: The timeline of the answer

  @Test func `a like caches the timeline with the moment, and passes it on`() throws {
    let world = try World()
    let watching = Recorder(world.repo.momentsDetails(userID: "0").map { $0.moments.map(\.hearts) })
    let like = world.like("0")
    world.answer(world.server.last, ["0"], isLiked: true)
    #expect(like.isCompleted.value)
    #expect(watching.take() == [["♥0"]])
    #expect(world.hearts == ["♥0"])
  }

  @Test func `a like brings moments that the cached timeline has not, and keeps those that came later`() async throws {
    let world = try World()
    try await world.load(moment([]))
    let like = world.like("0")
    let photo = GraphQLUpload(HTTPUpload(), fileName: "a.jpg", contentType: "image/jpeg")
    let post = Recorder(world.repo.postPhoto(photo, title: "Snow", userID: "0", onProgress: nil))
    world.server.last.data(text(["postPhoto": moment(["8"], id: "photo")]))
    try await post.waitForCompletion()
    let answered = timeline([moment(["9"], id: "new"), moment(["0"], isLiked: true)], in: "updateMomentLike")
    world.server[1].data(answered)
    #expect(like.isCompleted.value)
    #expect(Set(world.hearts ?? []) == ["8", "9", "♥0"])
    #expect(world.hearts?.count == 3)
  }

  @Test func `of two likes, the answer of the second is shown, also if that of the first comes later`() throws {
    let world = try World()
    let likes = [world.like("1"), world.like("2")]
    world.answer(world.server[1], ["1", "2"])
    #expect(world.hearts == ["1,2"])
    world.answer(world.server[0], ["1"])
    #expect(world.hearts == ["1,2"])
    withExtendedLifetime(likes) {}
  }
}
