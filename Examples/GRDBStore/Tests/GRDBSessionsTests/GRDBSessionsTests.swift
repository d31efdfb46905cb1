import Foundation
import GRDB
import GRDBSessions
import HTTPClientCore
import Models
import Networking
import Repository
import Streams
import Testing

@Suite struct GRDBSessionsTests {
  private let database: DatabaseQueue

  init() throws {
    database = try DatabaseQueue()
    try MomentsTables.migrator.migrate(database)
    try execute(
      """
      INSERT INTO user VALUES ('0', 'Lin Wei', 'lin.png', 'sea.png'), ('1', 'Mei', 'mei.png', 'hill.png');
      INSERT INTO moment VALUES
        ('m0', '0', '0', 'URL', 'Tea', 'https://tea.example/', 1600000000),
        ('m1', '0', '1', 'PHOTOS', NULL, NULL, 1700000000);
      INSERT INTO photo VALUES ('m1', 1, 'b.png'), ('m1', 0, 'a.png');
      INSERT INTO momentLike (momentID, userID) VALUES ('m1', '1');
      """)
  }

  private func execute(_ sql: String) throws {
    try database.write { try $0.execute(sql: sql) }
  }

  private func repo() -> MomentsRepo {
    MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSessionGRDB(database),
      updateMomentLikeSession: UpdateMomentLikeSessionGRDB(database),
      momentLikedSession: MomentLikedSessionGRDB(database))
  }

  @Test func `rows become a timeline, newest moment first`() async throws {
    let timeline = try await repo().getMoments(userID: "0").value
    #expect(timeline.userDetails == .init(id: "0", name: "Lin Wei", avatar: "lin.png", backgroundImage: "sea.png"))
    #expect(
      timeline.moments == [
        .init(
          id: "m1", userDetails: .init(name: "Mei", avatar: "mei.png"), type: .photos, photos: ["a.png", "b.png"],
          createdDate: "1700000000", isLiked: false, likes: [.init(id: "1", avatar: "mei.png")]),
        .init(
          id: "m0", userDetails: .init(name: "Lin Wei", avatar: "lin.png"), type: .url, title: "Tea",
          url: "https://tea.example/", createdDate: "1600000000", isLiked: false, likes: []),
      ])
  }

  @Test func `a change in the tables reaches the stream of a timeline, and one of another timeline does not`()
    async throws
  {
    var timelines = GetMomentsByUserIDSessionGRDB(database).observeMoments(userID: "0").compactMap { $0 }
      .values.makeAsyncIterator()
    #expect(try await timelines.next()?.userDetails.name == "Lin Wei")
    try execute("INSERT INTO moment VALUES ('m2', '1', '1', 'URL', 'Not here', 'https://tea.example/', 0)")
    try execute("UPDATE user SET name = 'Lin' WHERE id = '0'")
    #expect(try await timelines.next()?.userDetails.name == "Lin")
    try execute("DELETE FROM moment WHERE id = 'm0'")
    #expect(try await timelines.next()?.moments.map(\.id) == ["m1"])
  }

  @Test func `a change in the tables reaches who watches the repository`() async throws {
    let repo = repo()
    var events = repo.followLikes(userID: "0").values.makeAsyncIterator()
    #expect(try await events.next() == .connected)
    var timelines = repo.snapshots(userID: "0", policy: .cacheAndNetwork).compactMap(\.value).distinctUntilChanged()
      .values.makeAsyncIterator()
    #expect(try await timelines.next()?.moments.map(\.isLiked) == [false, false])
    try execute("INSERT INTO momentLike (momentID, userID) VALUES ('m1', '0')")
    #expect(try await events.next()?.value?.id == "m1")
    #expect(try await timelines.next()?.moments.map(\.isLiked) == [true, false])
    try execute("INSERT INTO moment VALUES ('m2', '0', '1', 'URL', 'New', 'https://tea.example/', 1800000000)")
    #expect(try await events.next() == .reconnected)
    #expect(try await timelines.next()?.moments.map(\.id) == ["m2", "m1", "m0"])
  }

  @Test func `a user who is not there yet can be followed`() async throws {
    var events = MomentLikedSessionGRDB(database).momentLiked(userID: "2").values.makeAsyncIterator()
    #expect(try await events.next() == .connected)
    try execute("INSERT INTO user VALUES ('2', 'An', 'an.png', 'tea.png')")
    #expect(try await events.next() == .reconnected)
    try execute("DELETE FROM user WHERE id = '2'")
    #expect(try await events.next() == .reconnected)
  }

  @Test func `a like of the repository is a row, once`() async throws {
    let repo = repo()
    for _ in 0..<2 {
      let liked = try await repo.updateLike(isLiked: true, momentID: "m0", fromUserID: "0").value
      #expect(liked.moments.map(\.isLiked) == [false, true])
    }
    let likes = {
      try database.read { try String.fetchAll($0, sql: "SELECT userID FROM momentLike WHERE momentID = 'm0'") }
    }
    #expect(try likes() == ["0"])
    _ = try await repo.updateLike(isLiked: false, momentID: "m0", fromUserID: "0").value
    #expect(try likes() == [])
  }

  @Test func `what is not there, and what the database refuses, is a request's error`() async throws {
    let repo = repo()
    let user = await #expect(throws: RequestError.self) { try await repo.getMoments(userID: "9").value }
    #expect(user?.kind == .noSuchRow)
    #expect(user?.message == "There is no user 9.")
    let moment = await #expect(throws: RequestError.self) {
      try await repo.updateLike(isLiked: true, momentID: "m9", fromUserID: "0").value
    }
    #expect(moment?.kind == .noSuchRow)
    let stranger = await #expect(throws: RequestError.self) {
      try await repo.updateLike(isLiked: true, momentID: "m0", fromUserID: "9").value
    }
    #expect((stranger?.cause as? DatabaseError)?.resultCode == .SQLITE_CONSTRAINT)
    try execute("DROP TABLE momentLike")
    let broken = await #expect(throws: RequestError.self) { try await repo.getMoments(userID: "0").value }
    #expect(broken?.cause is DatabaseError)
  }
}
