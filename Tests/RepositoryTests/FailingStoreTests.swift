import Models
import Repository
import StoresTestSupport
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

  private let errors = Monitor<[String]>([])

  private func repo(_ store: FixtureStore) -> MomentsRepo {
    var configuration = StoreConfiguration<MomentsDetails>()
    configuration.onStorageError = { [errors] error in errors.update { $0.append("\(error)") } }
    return MomentsRepo(
      storage: .source(store), configuration: configuration, getMomentsByUserIDSession: FixtureSessions(),
      updateMomentLikeSession: FixtureSessions())
  }

  @Test func `D3: a response that the store cannot keep is still delivered`() async throws {
    let repo = repo(FixtureStore(keep: { _, _ in throw Failure(name: "full") }))
    #expect(try await repo.getMoments(userID: "0").value.userDetails.id == "0")
    #expect(try await repo.updateLike(isLiked: true, momentID: "m", fromUserID: "0").value.userDetails.id == "0")
    #expect(try await repo.getMoments(userID: "0", policy: .cacheOnly).value.source == .memory)
    #expect(errors.value.filter { $0 == "full" }.count == 2)
  }

  @Test func `a store receives the owner's id`() async throws {
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
