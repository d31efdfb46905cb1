import Foundation
import HTTPClientCore
import Models
import Networking
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Repository
@testable import Stores

/// A repository with disk cache and outbox, as one process has it, at a server that can be out of reach.
private struct World {
  let isAway = Mutable(false)
  let outbox: Outbox<MomentLike, MomentsDetails>
  let repo: MomentsRepo
  let errors = Mutable<[any Error]>([])

  init(_ folder: TemporaryFolder, _ server: BFFServer, account: String = "0") throws {
    let (isAway, errors) = (isAway, errors)
    let client = try APIClient(baseURL: server.graphqlURL)
    let away = RequestError(.cannotConnect, "Refused.")
    let update = UpdateMomentLikeSession { $0.post(on: isAway.value ? Self.nowhere(client) : client) }
    outbox = try Outbox(folder: folder.url.appendingPathComponent("outbox"), partition: account, session: update)
    var configuration = StoreConfiguration<MomentsDetails>()
    configuration.onStorageError = { error in errors.update { $0.append(error) } }
    let cache = try DiskCache<MomentsKey, MomentsDetails>(
      folder: folder.url.appendingPathComponent("timelines"), partition: account)
    repo = MomentsRepo(
      storage: .source(cache), configuration: configuration,
      getMomentsByUserIDSession: GetMomentsByUserIDSession { session in
        isAway.value ? .error(away) : session.post(on: client)
      }, updateMomentLikeSession: update, outbox: outbox)
  }

  /// The same client without a server.
  private static func nowhere(_ client: APIClient) -> APIClient {
    struct Nowhere: HTTPTransport {
      func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
        .error(RequestError(.cannotConnect, "Refused."))
      }
    }
    var client = client
    client.transport = Nowhere()
    return client
  }

  func isLiked(_ policy: FetchPolicy, _ momentID: String = "m0-1") async throws -> Bool? {
    let details = try await repo.getMoments(userID: "0", policy: policy).value.requireValue()
    return details.moments.first { $0.id == momentID }?.isLiked
  }
}

@Suite struct MomentsOutboxTests {
  private let folder = TemporaryFolder()

  @Test func `a like without a server is shown, kept for later processes, and sent once when there is one`()
    async throws
  {
    let server = try await BFFServer.start()
    do {
      let world = try World(folder, server)
      #expect(try await world.isLiked(.networkOnly) == false)
      world.isAway.update { $0 = true }
      await #expect(throws: OutboxError.self) {
        try await world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "0").value
      }
      #expect(try await world.isLiked(.networkFirst) == true)
      await world.outbox.close()
    }
    let later = try World(folder, server)
    #expect(try await later.isLiked(.cacheOnly) == true)
    #expect(try await later.isLiked(.networkOnly) == true)
    #expect(try await server.stats().operations["updateMomentLike"] == nil)
    #expect(await later.outbox.flush().sent.count == 1)
    #expect(await later.outbox.flush().sent.isEmpty)
    #expect(try await server.stats().operations["updateMomentLike"] == 1)
    await later.repo.flush()
    await later.outbox.close()
    let last = try World(folder, server)
    #expect(try await last.isLiked(.cacheOnly) == true)
    #expect(try await last.isLiked(.networkOnly) == true)
    try await server.stop()
  }

  @Test func `a like that the server refuses later is shown no more, reported and set aside`() async throws {
    let server = try await BFFServer.shared()
    let world = try World(folder, server, account: "404")
    _ = try await world.isLiked(.networkOnly)
    world.isAway.update { $0 = true }
    let watcher = Recorder(
      world.repo.momentsDetails(userID: "0").map { $0.moments[1].likes?.contains { $0.id == "404" } })
    _ = try? await world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "404").value
    #expect(watcher.take() == [false, true])
    world.isAway.update { $0 = false }
    let report = await world.outbox.flush()
    #expect(report.refused.map(\.mutation.userID) == ["404"])
    #expect(report.refused.first?.refusal?.contains("'404'") == true)
    #expect(watcher.take() == [false])
    #expect(await world.outbox.flush().refused.isEmpty)
  }

  @Test func `the heart fills at once, and the server's response comes to the one who liked`() async throws {
    let server = try await BFFServer.start()
    let world = try World(folder, server)
    _ = try await world.isLiked(.networkOnly)
    let watcher = Recorder(world.repo.snapshots(userID: "0", policy: .cacheOnly).map(\.source))
    let details = try await world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "0").value
    #expect(details.moments[1].isLiked == true)
    #expect(watcher.take() == [.memory, .optimistic, .memory])
    #expect(try world.outbox.entries().isEmpty)
    try await server.stop()
  }

  @Test func `S1: closing the repository removes what waits, and the timelines`() async throws {
    let server = try await BFFServer.shared()
    let (mine, yours) = (try World(folder, server, account: "me"), try World(folder, server, account: "you"))
    for world in [mine, yours] {
      _ = try await world.isLiked(.networkOnly)
      world.isAway.update { $0 = true }
      _ = try? await world.repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "0").value
    }
    try await mine.repo.signOut()
    #expect(mine.errors.value.isEmpty)
    let later = try World(folder, server, account: "me")
    #expect(try later.outbox.entries().isEmpty)
    await #expect(throws: StoreError.notCached) { try await later.isLiked(.cacheOnly) }
    await yours.outbox.close()
    #expect(try await World(folder, server, account: "you").isLiked(.cacheOnly) == true)
  }
}
