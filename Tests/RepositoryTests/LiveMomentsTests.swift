import GraphQLClient
import HTTPClientCore
import Models
import Networking
import Repository
import Stores
import StoresTestSupport
import Streams
import Testing

/// Likes as they happen, in a repository of timelines.
@Suite struct LiveMomentsTests {
  private let likes = PublishSubject<LiveEvent<MomentsDetails.Moment>>()

  private func repo(get: @escaping @Sendable (String) -> Observable<MomentsDetails>) -> MomentsRepo {
    let sessions = FixtureSessions(get: get)
    return MomentsRepo(
      getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions, momentLikedSession: Likes(likes))
  }

  private struct Likes: MomentLikedSessionType {
    let events: PublishSubject<LiveEvent<MomentsDetails.Moment>>

    init(_ events: PublishSubject<LiveEvent<MomentsDetails.Moment>>) { self.events = events }

    func momentLiked(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> { events.asObservable() }
  }

  private static func moment(_ id: String, likers: [String]) -> MomentsDetails.Moment {
    MomentsDetails.Moment(
      id: id, userDetails: .init(name: "Wei", avatar: ""), type: .photos, createdDate: "1", isLiked: false,
      likes: likers.map { .init(id: $0, avatar: "") })
  }

  private static func timeline(_ moments: [MomentsDetails.Moment]) -> MomentsDetails {
    MomentsDetails(
      userDetails: .init(id: "0", name: "Wei", avatar: "", backgroundImage: ""), moments: moments)
  }

  @Test func `likes of others appear in the timeline as they happen, each in its moment`() {
    let repo = repo { _ in .just(Self.timeline(["a", "b"].map { Self.moment($0, likers: []) })) }
    let watcher = Recorder(repo.snapshots(userID: "0", policy: .cacheFirst).compactMap(\.value))
    let following = Recorder(repo.followLikes(userID: "0"))
    _ = watcher.take()
    likes.onNext(.value(Self.moment("b", likers: ["3"])))
    likes.onNext(.value(Self.moment("unknown", likers: ["3"])))
    likes.onNext(.value(Self.moment("b", likers: ["3", "4"])))
    #expect(watcher.take().map { $0.moments.map { $0.likes?.map(\.id) } } == [[[], ["3"]], [[], ["3", "4"]]])
    #expect(following.take().count == 3)
  }

  @Test func `after a reconnect the timeline is fetched again`() {
    let count = Mutable(0)
    let repo = repo { _ in
      count.update { $0 += 1 }
      return .just(Self.timeline([Self.moment("a", likers: count.value > 1 ? ["9"] : [])]))
    }
    let watcher = Recorder(repo.snapshots(userID: "0", policy: .cacheFirst).compactMap(\.value))
    let following = Recorder(repo.followLikes(userID: "0"))
    likes.onNext(.reconnected)
    #expect(watcher.take().last?.moments.first?.likes?.map(\.id) == ["9"])
    #expect(count.value == 2)
    #expect(following.take() == [.reconnected])
  }

  @Test func `a repository without the session has nothing to tell, and does not fail`() {
    let sessions = FixtureSessions()
    let repo = MomentsRepo(getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions)
    let following = Recorder(repo.followLikes(userID: "0"))
    #expect(following.take().isEmpty)
    #expect(following.error.value == nil)
    #expect(!following.isCompleted.value)
  }

  @Test func `the session passes on what the connection does, and whole moments`() throws {
    let moment = Self.moment("a", likers: ["1"])
    let session = MomentLikedSession(sessionHandler: { request in
      #expect(request.variables.userID == "0")
      #expect(request.variables.withLikes)
      let data = MomentLikedSession.Session.ResponseData(momentLiked: moment)
      let events: [MomentLikedSession.Response] = [.connected, .value(GraphQLResponse(data: data)), .reconnected]
      return .from(events)
    })
    let seen = Recorder(session.momentLiked(userID: "0"))
    #expect(seen.take() == [.connected, .value(moment), .reconnected])
  }
}
