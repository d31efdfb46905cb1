import Foundation
import GraphQLClient
import HTTPClientCore
import Models
import Networking
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Repository
@testable import Stores

/// A repository on a normalised store, as one process has it, at a server whose answers to likes can be held, and that can
/// be out of reach.
private struct World {
  let isAway = Mutable(false)
  let isHeld = BehaviorSubject(value: false)
  let client: APIClient
  let store: NormalizedStore
  let repo: NormalizedMomentsRepo
  let outbox: NormalizedMomentsRepo.LikeOutbox?

  /// Stands between the client and the server.
  private struct Gate: HTTPMiddleware {
    let isAway: Mutable<Bool>
    let isHeld: BehaviorSubject<Bool>

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      .deferred {
        if isAway.value { return .error(RequestError(.cannotConnect, "Refused.", reached: .never)) }
        guard request.operationName == "updateMomentLike" else { return next(request) }
        return isHeld.asObservable().filter { !$0 }.take(1).flatMap { _ in next(request) }
      }
    }
  }

  init(_ server: BFFServer, in folder: TemporaryFolder? = nil) throws {
    var client = try APIClient(baseURL: server.graphqlURL)
    client.middlewares = [Gate(isAway: isAway, isHeld: isHeld)]
    self.client = client
    if let folder {
      store = try NormalizedStore(
        client, schema: .moments, folder: folder.url.appendingPathComponent("records"), partition: "0")
      outbox = try Outbox(
        folder: folder.url.appendingPathComponent("outbox"), partition: "0", client: client)
    } else {
      (store, outbox) = (NormalizedStore(client, schema: .moments), nil)
    }
    repo = NormalizedMomentsRepo(store, outbox: outbox)
  }

  /// Ends it as a process does that has time for it.
  func close() async {
    await outbox?.close()
    await store.close()
  }
}

extension MomentsDetails.Moment {
  /// Its likers, and whether its timeline's owner is one.
  fileprivate var hearts: String {
    (isLiked == true ? "♥ " : "") + (likes ?? []).map(\.id).joined(separator: ",")
  }
}

@Suite struct NormalizedMomentsRepoTests {
  @Test func `a like shows at once in a timeline and in its pages, and then as the server has it`() async throws {
    let server = try await BFFServer.start()
    let world = try World(server)
    let pages = world.repo.connection(userID: "0", size: 2)
    _ = await pages.refreshed()
    let before = try await world.repo.getMoments(userID: "0").value.moments[1]
    #expect(before.likes?.contains { $0.id == "0" } == false)
    let timeline = Recorder(
      world.repo.snapshots(userID: "0", policy: .cacheOnly)
        .compactMap { snapshot in snapshot.value.map { "\($0.moments[1].hearts) \(snapshot.source == .optimistic)" } }
        .distinctUntilChanged())
    let rows = Recorder(pages.states.map { $0.items[1].hearts }.distinctUntilChanged())
    _ = (timeline.take(), rows.take())
    world.isHeld.onNext(true)
    let like = Recorder(world.repo.updateLike(isLiked: true, momentID: before.id, fromUserID: "0"))
    let shown = "♥ \(before.hearts),0"
    #expect(timeline.take() == ["\(shown) true"])
    #expect(rows.take() == [shown])
    world.isHeld.onNext(false)
    try await like.waitForCompletion()
    #expect(timeline.take() == ["\(shown) false"])
    #expect(rows.take() == [])
    #expect(like.elements.value.map { $0.moments[1].hearts } == [shown])
    try await server.stop()
  }

  @Test func `a like that the server refuses is shown no more`() async throws {
    let world = try await World(BFFServer.shared())
    let before = try await world.repo.getMoments(userID: "0").value.moments[1].hearts
    let shown = Monitor<[String]>([])
    let timeline = world.repo.momentsDetails(userID: "0")
      .subscribe(onNext: { details in shown.update { $0.append(details.moments[1].hearts) } })
    await #expect(throws: RequestError.self) {
      try await world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "404").value
    }
    try await shown.wait(for: "the end of the like") { $0.count > 2 }
    #expect(shown.value == [before, "\(before),404", before])
    timeline.dispose()
  }

  @Test func `likes of two are shown together, and one that fails does not take the other with it`() async throws {
    let world = try await World(BFFServer.shared())
    let before = try await world.repo.getMoments(userID: "0").value.moments[1].hearts
    let timeline = Recorder(world.repo.momentsDetails(userID: "0").map { $0.moments[1].hearts })
    world.isHeld.onNext(true)
    let first = Recorder(world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "404"))
    let second = Recorder(world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "405"))
    #expect(timeline.take().last == "\(before),404,405")
    first.dispose()
    #expect(timeline.take().last == "\(before),405")
    second.dispose()
    #expect(timeline.take().last == before)
  }

  @Test func `a like without a server is shown, after a restart too, in timeline and pages, and sent once`()
    async throws
  {
    let (server, folder) = (try await BFFServer.start(), TemporaryFolder())
    let shown: String
    do {
      let world = try World(server, in: folder)
      let before = try await world.repo.getMoments(userID: "0").value.moments[1]
      _ = await world.repo.connection(userID: "0", size: 3).refreshed()
      shown = "♥ \(before.hearts),0"
      world.isAway.update { $0 = true }
      await #expect(throws: OutboxError.self) {
        try await world.repo.updateLike(isLiked: true, momentID: before.id, fromUserID: "0").value
      }
      let timeline = Recorder(world.repo.momentsDetails(userID: "0").map { $0.moments[1].hearts })
      #expect(timeline.take() == [shown])
      timeline.dispose()
      await world.close()
    }
    let later = try World(server, in: folder)
    later.isAway.update { $0 = true }
    let timeline = Recorder(later.repo.momentsDetails(userID: "0").map { $0.moments[1].hearts }.distinctUntilChanged())
    #expect(timeline.take().last == shown)
    #expect(later.repo.connection(userID: "0", size: 3).state.items[1].hearts == shown)
    later.isAway.update { $0 = false }
    #expect(try await server.stats().operations["updateMomentLike"] == nil)
    #expect(await later.outbox?.flush().sent.count == 1)
    #expect(try await later.repo.getMoments(userID: "0").value.moments[1].hearts == shown)
    #expect(timeline.take() == [])
    try await later.repo.signOut()
    let last = try World(server, in: folder)
    await #expect(throws: StoreError.notCached) {
      _ = try await last.repo.getMoments(userID: "0", policy: .cacheOnly).value
    }
    try await server.stop()
  }

  @Test func `a photo that is posted is the first of the cached timeline`() async throws {
    let server = try await BFFServer.start()
    let world = try World(server)
    _ = try await world.repo.getMoments(userID: "5").value
    let timeline = Recorder(world.repo.momentsDetails(userID: "5").map { $0.moments.map(\.title) })
    var content = HTTPUpload()
    content.append(Data([0xFF, 0xD8]))
    let photo = GraphQLUpload(content, fileName: "a.jpg", contentType: "image/jpeg")
    let moment = try await world.repo.postPhoto(photo, title: "Snow", userID: "5", onProgress: nil).value
    #expect(timeline.take() == [[], ["Snow"]])
    #expect(try await world.repo.getMoments(userID: "5").value.moments == [moment])
    try await server.stop()
  }

  @Test func `likes of others are shown as they happen`() async throws {
    let server = try await BFFServer.start()
    let world = try World(server)
    let before = try await world.repo.getMoments(userID: "0").value.moments[1].hearts
    let pages = world.repo.connection(userID: "0", size: 3)
    _ = await pages.refreshed()
    let events = Monitor<[String]>([])
    let following = world.repo.followLikes(userID: "0").subscribe(onNext: { event in
      events.update { events in
        if case .connected = event { events.append("connected") }
        if case .value(let moment) = event { events.append(moment.hearts) }
      }
    })
    try await events.wait(for: "the connection") { !$0.isEmpty }
    _ = try await UpdateMomentLikeSession(client: APIClient(baseURL: server.graphqlURL))
      .updateLike(true, momentID: "m0-1", fromUserID: "0").value
    try await events.wait(for: "the like") { $0.count > 1 }
    following.dispose()
    #expect(events.value == ["connected", "♥ \(before),0"])
    let timeline = Recorder(world.repo.momentsDetails(userID: "0").map { $0.moments[1].hearts })
    #expect(timeline.take() == ["♥ \(before),0"])
    #expect(pages.state.items[1].hearts == "♥ \(before),0")
    try await server.stop()
  }

  @Test func `what the store knows of the schema is what the schema says`() throws {
    let text = try String(contentsOf: RepositoryLayout.schema, encoding: .utf8)
    var schema = try RecordSchema(text)
    schema.pageConnections()
    for (type, fields) in RecordSchema.moments.fieldTypes {
      for (field, named) in fields { #expect(schema.fieldTypes[type]?[field] == named, "\(type).\(field)") }
    }
    for (field, paging) in RecordSchema.moments.paging { #expect(schema.paging[field] == paging, "\(field)") }
  }
}
