import HTTPClientCore
import Models
import Networking
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Repository
@testable import Stores

@Suite("likes, shown at once")
struct LikeTests {
  /// Gives timelines that all hold the moment "m", and leaves the answer to a like to the test.
  private let server = FakeServer<String, MomentsDetails>()
  private let likes = Mutable<[String: Bool]>([:])

  private func repo(withLikes: Bool = true, storage: StoreStorage<MomentsKey, MomentsDetails> = .memory) -> MomentsRepo
  {
    let sessions = FixtureSessions(
      get: { .just(.holding("m", owner: $0, likers: withLikes ? [] : nil)) },
      update: { [server] _, momentID, _ in server.fetch(momentID).map(\.value) })
    return MomentsRepo(
      storage: storage, getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions,
      withLikes: { withLikes })
  }

  /// Watches the timelines of some users after they were fetched.
  private func watch(_ users: [String], of repo: MomentsRepo) -> [Recorder<Snapshot<MomentsDetails>>] {
    users.map { user in
      let get = Recorder(repo.getMoments(userID: user))
      #expect(get.isCompleted.value)
      let watcher = Recorder(repo.snapshots(userID: user, policy: .cacheOnly))
      _ = watcher.take()
      return watcher
    }
  }

  @Test
  func `a like is seen at once in every timeline that holds the moment, and isLiked where the liker is the owner`() {
    let repo = repo()
    let watchers = watch(["0", "1", "3"], of: repo)
    let like = Recorder(repo.updateLike(isLiked: true, momentID: "m", fromUserID: "3"))
    #expect(watchers.map { $0.likes() } == [["[3] optimistic"], ["[3] optimistic"], ["[3] liked optimistic"]])
    server[0].answer(.holding("m", owner: "0", likers: ["3", "9"]))
    // The server's answer is of one timeline; in the others stands what it has agreed to.
    #expect(watchers.map { $0.likes() } == [["[3, 9] memory"], ["[3] memory"], ["[3] liked memory"]])
    #expect(like.isCompleted.value)
    #expect(like.take().first?.userDetails.id == "0")
  }

  @Test func `the heart empties where the server says no`() {
    let repo = repo()
    let watchers = watch(["0", "3"], of: repo)
    let like = Recorder(repo.updateLike(isLiked: true, momentID: "m", fromUserID: "3"))
    server[0].fail()
    #expect(watchers.map { $0.likes() } == [["[3] optimistic", "[] memory"], ["[3] liked optimistic", "[] memory"]])
    #expect(like.error.value is Failure)
  }

  @Test func `a like that is there already notifies no watcher`() {
    let repo = repo()
    let watchers = watch(["0"], of: repo)
    let like = Recorder(repo.updateLike(isLiked: false, momentID: "m", fromUserID: "3"))
    #expect(watchers.map { $0.likes() } == [[]])
    like.dispose()
  }

  @Test func `ids are distinguished by their bytes, though they are equal as text`() throws {
    let details = MomentsDetails.holding("m\u{E9}", owner: "0", likers: ["\u{E9}"])
    #expect(details.applying(MomentLike(isLiked: true, momentID: "me\u{301}", userID: "1")) == nil)
    let like = MomentLike(isLiked: true, momentID: "m\u{E9}", userID: "e\u{301}")
    let liked = try #require(details.applying(like))
    #expect(liked.moments[0].likes?.map { Array($0.id.utf8) } == [[0xC3, 0xA9], [0x65, 0xCC, 0x81]])
    let unliked = liked.applying(MomentLike(isLiked: false, momentID: "m\u{E9}", userID: "e\u{301}"))
    #expect(unliked?.moments[0].likes?.map { Array($0.id.utf8) } == [[0xC3, 0xA9]])
    let own = MomentsDetails.holding("m", owner: "\u{E9}", likers: [])
    #expect(own.applying(MomentLike(isLiked: true, momentID: "m", userID: "e\u{301}"))?.moments[0].isLiked == false)
  }

  @Test func `O6: two likes end in either order`() {
    for first in [0, 1] {
      let (server, repo) = (FakeServer<String, MomentsDetails>(), Mutable<MomentsRepo?>(nil))
      let sessions = FixtureSessions(
        get: { .just(.holding("m", owner: $0, likers: [])) },
        update: { _, _, userID in server.fetch(userID).map(\.value) })
      repo.update { $0 = MomentsRepo(getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions) }
      guard let repo = repo.value else { return }
      let watcher = watch(["0"], of: repo)[0]
      let changes = ["1", "2"].map { Recorder(repo.updateLike(isLiked: true, momentID: "m", fromUserID: $0)) }
      #expect(watcher.likes() == ["[1] optimistic", "[1, 2] optimistic"])
      server[first].fail()
      #expect(watcher.likes() == ["[\(2 - first)] optimistic"])
      server[1 - first].fail()
      #expect(watcher.likes() == ["[] memory"])
      #expect(changes.count == 2)
    }
  }

  @Test func `a timeline that is not watched, and that is on disk alone, shows the like, too`() async throws {
    let folder = TemporaryFolder()
    let first = repo(storage: .source(try DiskCache(folder: folder.url)))
    for user in ["0", "3"] { _ = try await first.getMoments(userID: user).value }
    let next = repo(storage: .source(try DiskCache(folder: folder.url)))
    let like = Recorder(next.updateLike(isLiked: true, momentID: "m", fromUserID: "3"))
    #expect(Recorder(next.snapshots(userID: "3", policy: .cacheOnly)).likes() == ["[3] liked optimistic"])
    server[0].answer(.holding("m", owner: "0", likers: ["3"]))
    try await like.waitForCompletion()
    let last = repo(storage: .source(try DiskCache(folder: folder.url)))
    #expect(Recorder(last.snapshots(userID: "3", policy: .cacheOnly)).likes() == ["[3] liked disk"])
  }

  @Test func `likes that were not requested are not shown`() {
    let repo = repo(withLikes: false)
    let watchers = watch(["0"], of: repo)
    let like = Recorder(repo.updateLike(isLiked: true, momentID: "m", fromUserID: "3"))
    #expect(watchers.map { $0.likes() } == [[]])
    like.dispose()
  }

  @Test func `timelines with likes and without are kept apart`() {
    let withLikes = Mutable(true)
    let sessions = FixtureSessions(get: { .just(.holding("m", owner: $0, likers: withLikes.value ? [] : nil)) })
    let repo = MomentsRepo(
      getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions, withLikes: { withLikes.value })
    _ = watch(["0"], of: repo)
    withLikes.update { $0 = false }
    #expect(Recorder(repo.snapshots(userID: "0", policy: .cacheOnly)).take().first?.value == nil)
  }

  @Test
  func `the response to a like is cached by whether it has likes, though that has changed since it was requested`() {
    let (withLikes, answer) = (Mutable(false), PublishSubject<MomentsDetails>())
    let sessions = FixtureSessions(
      get: { .just(.holding("m", owner: $0, likers: withLikes.value ? ["9"] : nil)) },
      update: { _, _, _ in answer.asObservable() })
    let repo = MomentsRepo(
      getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions, withLikes: { withLikes.value })
    let like = Recorder(repo.updateLike(isLiked: true, momentID: "m", fromUserID: "3"))
    withLikes.update { $0 = true }
    _ = Recorder(repo.getMoments(userID: "0"))
    answer.onNext(.holding("m", owner: "0", likers: nil))
    answer.onCompleted()
    #expect(Recorder(repo.momentsDetails(userID: "0")).take().last?.moments.first?.likes?.map(\.id) == ["9", "3"])
    like.dispose()
  }

  @Test func `G3: a partial timeline is a snapshot with errors, and never replaces a complete one`() {
    let errors = Mutable<[GraphQLError]>([GraphQLError(message: "no title")])
    let session = GetMomentsByUserIDSession(sessionHandler: { session in
      let details = MomentsDetails.holding(
        "m", owner: session.variables.userID, likers: errors.value.isEmpty ? [] : ["9"])
      return .just(.init(data: .init(getMomentsDetailsByUserID: details), errors: errors.value))
    })
    let repo = MomentsRepo(getMomentsByUserIDSession: session, updateMomentLikeSession: FixtureSessions())
    let watcher = Recorder(repo.snapshots(userID: "0", policy: .cacheFirst))
    let partial = watcher.take().last
    #expect(partial?.value?.userDetails.id == "0")
    #expect(partial?.errors.count == 1)
    // Who wants a whole timeline gets none.
    #expect(Recorder(repo.getMoments(userID: "0")).error.value is RequestError)

    errors.update { $0 = [] }
    #expect(Recorder(repo.getMoments(userID: "0")).isCompleted.value)
    #expect(watcher.likes().last == "[] network")
    errors.update { $0 = [GraphQLError(message: "no title")] }
    #expect(Recorder(repo.getMoments(userID: "0", policy: .networkOnly)).take().first?.errors.count == 1)
    let last = watcher.take().last
    #expect(last?.value?.moments.first?.likes?.isEmpty == true)
    #expect(last?.errors.count == 1)
  }
}

extension MomentsDetails {
  /// A timeline with one moment.
  fileprivate static func holding(_ momentID: String, owner: String, likers: [String]?) -> MomentsDetails {
    let moment = Moment(
      id: momentID, userDetails: Moment.Author(name: "Wei", avatar: ""), type: .photos, title: nil, url: nil,
      photos: [],
      createdDate: "1", isLiked: likers.map { $0.contains(owner) },
      likes: likers.map { $0.map { Moment.Liker(id: $0, avatar: "") } })
    return MomentsDetails(
      userDetails: UserDetails(id: owner, name: "Wei", avatar: "", backgroundImage: ""), moments: [moment])
  }
}

extension Recorder<Snapshot<MomentsDetails>> {
  /// The likers of the first moment in what came, with the heart and the source.
  fileprivate func likes() -> [String] {
    take().compactMap { snapshot in
      guard let moment = snapshot.value?.moments.first, let likes = moment.likes else { return nil }
      let heart = moment.isLiked == true ? " liked" : ""
      return "[\(likes.map(\.id).joined(separator: ", "))]\(heart) \(snapshot.source?.rawValue ?? "-")"
    }
  }
}
