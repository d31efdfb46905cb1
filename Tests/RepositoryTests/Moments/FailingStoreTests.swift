import Models
import Repository
import Streams
import TestSupport
import Testing

@Suite struct FailingStoreTests {
  /// Keeps and gives as closures say.
  private struct FixtureStore: SourceOfTruth {
    var keep: @Sendable (MomentsDetails, MomentsKey) throws -> Void = { _, _ in }

    func read(_ key: MomentsKey) throws -> StoredValue<MomentsDetails>? { throw Failure() }
    func write(_ stored: StoredValue<MomentsDetails>, for key: MomentsKey) throws { try keep(stored.value, key) }
    func remove(_ key: MomentsKey) throws {}
    func removeAll() throws {}
    func keys() throws -> [MomentsKey] { [] }
  }

  private func repo(_ store: FixtureStore) -> MomentsRepo {
    MomentsRepo(
      sourceOfTruth: store, getMomentsByUserIDSession: FixtureSessions(), updateMomentLikeSession: FixtureSessions())
  }

  @Test func `what the store throws fails the request whose answer was to be kept`() async {
    let repo = repo(FixtureStore(keep: { _, _ in throw Failure(name: "full") }))
    await #expect(throws: Failure(name: "full")) { try await repo.getMoments(userID: "0").value }
    await #expect(throws: Failure(name: "full")) {
      try await repo.updateLike(isLiked: true, momentID: "m", fromUserID: "0").value
    }
    #expect(Recorder(repo.getMoments(userID: "0")).events == ["error full"])
  }

  @Test func `a store is told the owner's id`() async throws {
    let saved = Monitor<[String]>([])
    let repo = repo(
      FixtureStore(keep: { details, key in saved.update { $0.append("\(key.userID) \(details.userDetails.id)") } }))
    _ = try await repo.getMoments(userID: "7").value
    #expect(saved.value == ["7 7"])
  }

  @Test func `a watcher never sees an error of the store, and does not end by it`() async throws {
    let repo = repo(FixtureStore())
    let watcher = Recorder(repo.momentsDetails(userID: "0"))
    #expect(watcher.events == [])
    _ = try await repo.getMoments(userID: "0").value
    #expect(watcher.events == ["0 Wei 0"])
  }
}
