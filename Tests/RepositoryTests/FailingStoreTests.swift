import Models
import Repository
import Streams
import TestSupport
import Testing

@Suite struct FailingStoreTests {
  /// Saves and watches as closures say.
  private struct FixtureStore: DataStoreType {
    var watch: @Sendable (String) -> Observable<MomentsDetails> = { _ in .never() }
    var keep: @Sendable (MomentsDetails, String) throws -> Void = { _, _ in }

    func values(for key: String) -> Observable<MomentsDetails> { watch(key) }
    func save(_ value: MomentsDetails, for key: String) throws { try keep(value, key) }
  }

  private func repo(_ store: FixtureStore) -> MomentsRepo {
    MomentsRepo(
      dataStore: store, getMomentsByUserIDSession: FixtureSessions(), updateMomentLikeSession: FixtureSessions())
  }

  @Test func `what the store throws fails the request whose answer was to be kept`() async {
    let repo = repo(FixtureStore(keep: { _, _ in throw Failure(name: "full") }))
    await #expect(throws: Failure(name: "full")) { try await repo.getMoments(userID: "0").value }
    await #expect(throws: Failure(name: "full")) {
      try await repo.updateLike(isLiked: true, momentID: "m", fromUserID: "0").value
    }
    #expect(Recorder(repo.getMoments(userID: "0")).events == ["error Failure(name: \"full\")"])
  }

  @Test func `a store is told the owner's id`() async throws {
    let saved = Monitor<[String]>([])
    let repo = repo(
      FixtureStore(keep: { details, key in saved.update { $0.append("\(key) \(details.userDetails.id)") } }))
    _ = try await repo.getMoments(userID: "7").value
    #expect(saved.value == ["7 7"])
  }

  @Test func `a watcher never sees an error of the store, and does not end by it`() {
    let subject = PublishSubject<MomentsDetails>()
    let watcher = Recorder(repo(FixtureStore(watch: { _ in subject.asObservable() })).momentsDetails(userID: "0"))
    subject.onNext(.fixture())
    subject.onError(Failure())
    #expect(watcher.events == ["0 Wei 0"])
    #expect(Recorder(repo(FixtureStore(watch: { _ in .error(Failure()) })).momentsDetails(userID: "0")).events == [])
  }
}
