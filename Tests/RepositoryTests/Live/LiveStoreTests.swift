import HTTP
import Models
import Networking
import Repository
import Streams
import StreamsTesting
import TestSupport
import Testing

/// What a server pushes, in a store.
@Suite struct LiveStoreTests {
  private let server = FakeServer<String, String>()
  private let events = PublishSubject<LiveEvent<String>>()
  private let scheduler = TestScheduler()

  private func store() -> Store<String, String> {
    var configuration = StoreConfiguration<String>()
    configuration.clock = .scheduler(scheduler)
    configuration.idleTime = nil
    return Store(partialFetch: { [server] in server.fetch($0) }, configuration: configuration)
  }

  /// Follows the key "k": what is pushed is appended, unless it is there.
  private func follow(_ store: Store<String, String>) -> Recorder<LiveEvent<String>> {
    Recorder(
      store.follow("k", events.asObservable(), scheduler: scheduler) { live, value in
        value.contains(live) ? nil : value + live
      })
  }

  @Test("a pushed value is seen by each watcher once, and in order")
  func watchers() {
    let store = store()
    let watchers = (0..<2).map { _ in Recorder(store.values("k")) }
    let following = follow(store)
    store.save("", for: "k")
    for live in ["a", "b", "c"] { events.onNext(.value(live)) }
    for watcher in watchers { #expect(watcher.take() == ["", "a", "ab", "abc"]) }
    #expect(following.take() == [.value("a"), .value("b"), .value("c")])
    #expect(server.count == 0)
  }

  @Test("a pushed value that changes nothing wakes nobody")
  func same() {
    let store = store()
    let following = follow(store)
    store.save("a", for: "k")
    let watcher = Recorder(store.values("k"))
    events.onNext(.value("a"))
    #expect(watcher.take() == ["a"] && following.take() == [.value("a")])
  }

  @Test("L8: a response that was asked for before a pushed value does not undo it")
  func lateResponse() {
    let store = store()
    let following = follow(store)
    store.save("", for: "k")
    let watcher = Recorder(store.stream("k", .cacheAndNetwork).compactMap(\.value).distinctUntilChanged())
    #expect(server.count == 1)
    events.onNext(.value("a"))
    server[0].answer("")
    #expect(watcher.take() == ["", "a"])
    // It is requested again after a pause, since it may have had other news.
    #expect(server.count == 1)
    scheduler.advance(by: .seconds(1))
    #expect(server.count == 2)
    server[1].answer("za")
    #expect(watcher.take() == ["za"] && following.take().count == 1)
  }

  @Test("L8: a value that is pushed before there is one is in the next response")
  func withoutValue() {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheAndNetwork).compactMap(\.value).distinctUntilChanged())
    events.onNext(.value("a"))
    server[0].answer("")
    #expect(store.peek("k")?.value == "a")
    scheduler.advance(by: .seconds(1))
    #expect(server.count == 2)
    server[1].answer("a")
    #expect(watcher.take().last == "a" && following.take().count == 1)
  }

  @Test(
    "L2: what is watched is fetched again after a gap",
    arguments: [
      LiveEvent<String>.connected, .reconnected, .dropped(3),
    ])
  func gaps(event: LiveEvent<String>) {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].answer("old")
    events.onNext(event)
    #expect(server.count == 2)
    server[1].answer("new")
    #expect(watcher.take().last?.value == "new" && following.take() == [event])
  }

  @Test("nothing is fetched without a gap, or without a watcher")
  func noGap() {
    let store = store()
    let following = follow(store)
    store.save("a", for: "k")
    events.onNext(.reconnected)
    #expect(server.count == 0)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].answer("b")
    events.onNext(.disconnected(RequestError(.connectionLost, "Cut."), retryAfter: .zero))
    events.onNext(.resumed)
    #expect(server.count == 1 && watcher.take().last?.value == "b" && following.take().count == 3)
  }

  @Test("a request for what was missed that fails in an outage is made again, until it succeeds")
  func outage() {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].answer("old")
    events.onNext(.reconnected)
    for index in 1...5 {
      server[index].fail(RequestError(.cannotConnect, "Refused."))
      scheduler.advance(by: .seconds(60))
      #expect(server.count == index + 2)
    }
    server[6].answer("new")
    scheduler.advance(by: .seconds(600))
    #expect(server.count == 7 && watcher.take().last?.value == "new")
    following.dispose()
    #expect(scheduler.pendingCount == 0)
  }

  @Test("a request that the server refuses is not made again, and nothing is after the end")
  func refusal() {
    let store = store()
    let following = follow(store)
    let watcher = Recorder(store.stream("k", .cacheFirst))
    server[0].fail(RequestError(.httpStatus, "No.", status: 404))
    scheduler.advance(by: .seconds(600))
    #expect(server.count == 1)
    events.onNext(.reconnected)
    following.dispose()
    server[1].fail(RequestError(.cannotConnect, "Refused."))
    scheduler.advance(by: .seconds(600))
    #expect(server.count == 2 && watcher.take().last?.value == nil)
  }

  @Test("optimistic changes stay on top of what is pushed, and it remains when they fail")
  func optimistic() {
    let store = store()
    let following = follow(store)
    store.save("", for: "k")
    let watcher = Recorder(store.values("k"))
    let answer = PublishSubject<String>()
    let change = Recorder(
      store.mutate("k", optimistic: { $0.map { $0 + "!" } }, send: { answer.asObservable() }))
    events.onNext(.value("a"))
    answer.onError(Failure())
    #expect(watcher.take() == ["", "!", "a!", "a"])
    #expect(change.error.value is Failure && following.take().count == 1)
  }
}

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

  @Test("likes of others appear in the timeline as they happen, each in its moment")
  func likesOfOthers() {
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

  @Test("after a reconnect the timeline is fetched again")
  func reconnect() {
    let count = Mutable(0)
    let repo = repo { _ in
      count.update { $0 += 1 }
      return .just(Self.timeline([Self.moment("a", likers: count.value > 1 ? ["9"] : [])]))
    }
    let watcher = Recorder(repo.snapshots(userID: "0", policy: .cacheFirst).compactMap(\.value))
    let following = Recorder(repo.followLikes(userID: "0"))
    likes.onNext(.reconnected)
    #expect(watcher.take().last?.moments.first?.likes?.map(\.id) == ["9"])
    #expect(count.value == 2 && following.take() == [.reconnected])
  }

  @Test("a repository without the session has nothing to tell, and does not fail")
  func without() {
    let sessions = FixtureSessions()
    let repo = MomentsRepo(getMomentsByUserIDSession: sessions, updateMomentLikeSession: sessions)
    let following = Recorder(repo.followLikes(userID: "0"))
    #expect(following.take().isEmpty && following.error.value == nil && !following.isCompleted.value)
  }

  @Test("the session passes on what the connection does, and whole moments")
  func session() throws {
    let moment = Self.moment("a", likers: ["1"])
    let session = MomentLikedSession(sessionHandler: { request in
      #expect(request.variables.userID == "0" && request.variables.withLikes)
      let data = MomentLikedSession.Session.ResponseData(momentLiked: moment)
      let events: [MomentLikedSession.Response] = [.connected, .value(GraphQLResponse(data: data)), .reconnected]
      return .from(events)
    })
    let seen = Recorder(session.momentLiked(userID: "0"))
    #expect(seen.take() == [.connected, .value(moment), .reconnected])
  }
}
