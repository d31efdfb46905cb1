import Models
import Repository
import StoresTestSupport
import Streams
import TestSupport
import Testing

@Suite struct MomentsRepoTests {
  private func repo(_ sessions: FixtureSessions = FixtureSessions()) -> MomentsRepo {
    MomentsRepo(getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions)
  }

  @Test func `fetching gives the timeline, and notifies the watchers of its owner`() async throws {
    let repo = repo()
    let watcher = Recorder(repo.momentsDetails(userID: "7"))
    #expect(watcher.events == [])
    #expect(try await repo.getMoments(userID: "7").value == .fixture("7"))
    #expect(watcher.events == ["7 Wei 0"])
  }

  @Test func `a later watcher receives the latest timeline at once`() async throws {
    let revision = Monitor(0)
    let repo = repo(
      FixtureSessions(get: {
        .just(
          .fixture(
            $0,
            revision: revision.update {
              $0 += 1; return $0
            }))
      }))
    _ = try await repo.getMoments(userID: "0").value
    _ = try await repo.getMoments(userID: "0").value
    #expect(Recorder(repo.momentsDetails(userID: "0")).events == ["0 Wei 2"])
  }

  @Test func `watchers are notified before the response is delivered`() {
    let repo = repo()
    let watcher = Recorder(repo.momentsDetails(userID: "0"))
    let told = Monitor<[String]>([])
    _ = repo.getMoments(userID: "0").subscribe(onNext: { _ in told.update { $0 = watcher.events } })
    #expect(told.value == ["0 Wei 0"])
  }

  @Test func `watching sends no request, and users are apart`() async throws {
    let asked = Monitor<[String]>([])
    let repo = repo(
      FixtureSessions(get: { userID in
        asked.update { $0.append(userID) }
        return .just(.fixture(userID))
      }))
    let watchers = ["0", "1", "2"].map { Recorder(repo.momentsDetails(userID: $0)) }
    #expect(asked.value == [])
    _ = try await repo.getMoments(userID: "1").value
    #expect(watchers.map(\.events) == [[], ["1 Wei 0"], []])
    #expect(asked.value == ["1"])
  }

  @Test func `a timeline is kept under its owner's id, whichever user was requested`() async throws {
    let repo = repo(FixtureSessions(get: { _ in .just(.fixture("owner")) }))
    let (asked, owner) = (
      Recorder(repo.momentsDetails(userID: "alias")), Recorder(repo.momentsDetails(userID: "owner"))
    )
    _ = try await repo.getMoments(userID: "alias").value
    #expect(asked.events == [])
    #expect(owner.events == ["owner Wei 0"])
  }

  @Test func `a like from another user updates the owner's timeline alone`() async throws {
    let asked = Monitor<[String]>([])
    let repo = repo(
      FixtureSessions(update: { isLiked, momentID, userID in
        asked.update { $0.append("\(isLiked) \(momentID) \(userID)") }
        return .just(.fixture("owner", revision: 1))
      }))
    let (liker, owner) = (
      Recorder(repo.momentsDetails(userID: "liker")), Recorder(repo.momentsDetails(userID: "owner"))
    )
    let details = try await repo.updateLike(isLiked: true, momentID: "m", fromUserID: "liker").value
    #expect(details == .fixture("owner", revision: 1))
    #expect(asked.value == ["true m liker"])
    #expect(liker.events == [])
    #expect(owner.events == ["owner Wei 1"])
  }

  @Test func `G2, G3: a failure is reported by the request, and leaves what was kept as it was`() async throws {
    let fails = Monitor(false)
    let sessions = FixtureSessions(
      get: { fails.value ? .error(Failure()) : .just(.fixture($0)) }, update: { _, _, _ in .error(Failure()) })
    let repo = repo(sessions)
    let watcher = Recorder(repo.momentsDetails(userID: "0"))
    _ = try await repo.getMoments(userID: "0").value
    fails.update { $0 = true }
    await #expect(throws: Failure()) { try await repo.getMoments(userID: "0").value }
    await #expect(throws: Failure()) {
      try await repo.updateLike(isLiked: true, momentID: "m", fromUserID: "0").value
    }
    #expect(watcher.events == ["0 Wei 0"])
    #expect(Recorder(repo.momentsDetails(userID: "0")).events == ["0 Wei 0"])
    fails.update { $0 = false }
    _ = try await repo.getMoments(userID: "0").value
    #expect(watcher.events == ["0 Wei 0", "0 Wei 0"])
  }

  @Test func `requests are cold: one is sent for each subscriber, and none before`() {
    let count = Monitor(0)
    let counting = Observable<MomentsDetails>.deferred {
      count.update { $0 += 1 }
      return .just(.fixture())
    }
    let repo = repo(FixtureSessions(get: { _ in counting }, update: { _, _, _ in counting }))
    let (get, update) = (repo.getMoments(userID: "0"), repo.updateLike(isLiked: true, momentID: "m", fromUserID: "0"))
    #expect(count.value == 0)
    for stream in [get, get, update, update] {
      #expect(Recorder(stream).events == ["0 Wei 0", "completed"])
    }
    #expect(count.value == 4)
  }

  @Test func `disposing a request stops it, and nothing is kept`() {
    let isDisposed = Monitor(false)
    let answers = PublishSubject<MomentsDetails>()
    let stream = answers.asObservable().do(onDispose: { isDisposed.update { $0 = true } })
    let repo = repo(FixtureSessions(get: { _ in stream }))
    let request = Recorder(repo.getMoments(userID: "0"))
    request.dispose()
    #expect(isDisposed.value)
    answers.onNext(.fixture())
    #expect(request.events == [])
    #expect(Recorder(repo.momentsDetails(userID: "0")).events == [])
  }

  @Test func `a repository that is released releases its sessions, its store and its watchers`() async throws {
    final class Held: Sendable {}
    weak var gone: Held?
    do {
      let held = Held()
      gone = held
      let sessions = FixtureSessions(get: { userID in
        withExtendedLifetime(held) { .just(.fixture(userID)) }
      })
      let repo = MomentsRepo(getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions)
      let watcher = repo.momentsDetails(userID: "0").subscribe(onNext: { _ in withExtendedLifetime(held) {} })
      _ = try await repo.getMoments(userID: "0").value
      repo.getMoments(userID: "0").subscribe().dispose()
      watcher.dispose()
    }
    #expect(gone == nil)
  }
}
