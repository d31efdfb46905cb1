import HTTPClientCore
import Models
import Networking
import Streams
import Synchronization
import SystemBase

/// Answers sessions from data in this process, without a server or a network.
///
/// Likes and photos last as long as the backend, and of a photo only its name is kept. While somebody watches a timeline, friends like its moments, one every two
/// seconds.
final class EmbeddedBackend: GetMomentsByUserIDSessionType, UpdateMomentLikeSessionType, PostPhotoSessionType,
  MomentLikedSessionType
{
  private let state: Mutex<EmbeddedState>
  private let withLikes: @Sendable () -> Bool
  private let now: @Sendable () -> Int64

  /// Takes the initial data. The toggle is read for each request, and says whether the response has likes; the clock
  /// gives the Unix time in seconds.
  init(
    _ state: EmbeddedState, withLikes: @escaping @Sendable () -> Bool = { true },
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
  ) {
    self.state = Mutex(state)
    self.withLikes = withLikes
    self.now = now
  }

  func getMoments(userID: String) -> Observable<MomentsDetails> {
    Observable.deferred { [self] in
      let details = try state.withLock { try $0.details(userID: userID, withLikes: withLikes()) }
      return .just(details)
    }
  }

  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    Observable.deferred { [self] in
      let details = try state.withLock { state in
        let ownerID = try state.setLike(isLiked, momentID: momentID, userID: fromUserID)
        return try state.details(userID: ownerID, withLikes: withLikes())
      }
      return .just(details)
    }
  }

  func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<MomentsDetails.Moment> {
    Observable.deferred { [self] in
      let moment = try state.withLock {
        try $0.post(photo.fileName, title: title, userID: userID, at: now(), withLikes: withLikes())
      }
      var progress = HTTPProgress(totalToSend: photo.content.count)
      progress.sent = progress.totalToSend ?? 0
      onProgress?(progress)
      return .just(moment)
    }
  }

  func momentLiked(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> {
    .create { [self] observer in
      observer.onNext(.connected)
      let timers = DisposeBag()
      likeNext(of: userID, timers) { observer.onNext(.value($0)) }
      return timers
    }
  }

  /// Has a friend like the next moment in turn, or take the like back, and so on until the bag is disposed.
  private func likeNext(
    of userID: String, turn: Int = 0, _ timers: DisposeBag,
    _ emit: @escaping @Sendable (MomentsDetails.Moment) -> Void
  ) {
    let timer = ConcurrentScheduler().schedule(after: .seconds(2)) { [self, weak timers] in
      guard let timers else { return }
      if let moment = state.withLock({ $0.likeNext(of: userID, turn: turn, withLikes: withLikes()) }) { emit(moment) }
      likeNext(of: userID, turn: turn + 1, timers, emit)
    }
    timers.insert(timer)
  }
}

/// Users, their timelines, and who likes what: the data of the embedded backend.
struct EmbeddedState: Sendable {
  /// A moment as posted, and the ids of the users who like it, oldest like first.
  struct Entry: Sendable {
    let post: MomentsDetails.Moment
    var likerIDs: [String]
  }

  private let users: [String: MomentsDetails.UserDetails]
  private var timelines: [String: [Entry]]

  /// Makes the data from the users and the timeline of each, newest moment first.
  init(users: [MomentsDetails.UserDetails], timelines: [String: [Entry]]) {
    self.users = Dictionary(users.map { ($0.id, $0) }) { first, _ in first }
    self.timelines = timelines
  }

  /// The timeline of a user, with or without its likes.
  func details(userID: String, withLikes: Bool) throws(RequestError) -> MomentsDetails {
    let owner = try user(userID)
    let moments = timelines[userID, default: []].map { moment($0, ownerID: userID, withLikes: withLikes) }
    return MomentsDetails(userDetails: owner, moments: moments)
  }

  /// Sets whether a user likes a moment, and returns the id of the timeline's owner; repeating it changes nothing.
  mutating func setLike(_ isLiked: Bool, momentID: String, userID: String) throws(RequestError) -> String {
    _ = try user(userID)
    for (ownerID, entries) in timelines {
      guard let index = entries.firstIndex(where: { $0.post.id == momentID }) else { continue }
      let likerIDs = entries[index].likerIDs
      if isLiked != likerIDs.contains(userID) {
        timelines[ownerID]?[index].likerIDs = isLiked ? likerIDs + [userID] : likerIDs.filter { $0 != userID }
      }
      return ownerID
    }
    throw RequestError(
      .notFound, "The embedded backend has no moment with the id '\(momentID)'; 'moments timeline' shows the ids.")
  }

  /// Adds a moment with a photo at the top of the user's own timeline, and returns it.
  mutating func post(
    _ fileName: String, title: String?, userID: String, at now: Int64, withLikes: Bool
  ) throws(RequestError) -> MomentsDetails.Moment {
    let author = try user(userID)
    let post = MomentsDetails.Moment(
      id: "m\(userID)-\(timelines[userID, default: []].count)",
      userDetails: .init(name: author.name, avatar: author.avatar),
      type: .photos, title: title, photos: ["https://img.example.com/p/\(fileName.percentEncoded)"],
      createdDate: String(now))
    let entry = Entry(post: post, likerIDs: [])
    timelines[userID, default: []].insert(entry, at: 0)
    return moment(entry, ownerID: userID, withLikes: withLikes)
  }

  /// Lets a friend like a moment of a timeline, or take the like back, and returns the moment; `nil` if there is none.
  mutating func likeNext(of ownerID: String, turn: Int, withLikes: Bool) -> MomentsDetails.Moment? {
    let friends = users.keys.filter { $0 != ownerID }.sorted()
    guard let entries = timelines[ownerID], !entries.isEmpty, !friends.isEmpty else { return nil }
    let index = turn % entries.count
    let friend = friends[turn % friends.count]
    let likers = entries[index].likerIDs
    timelines[ownerID]?[index].likerIDs = likers.contains(friend) ? likers.filter { $0 != friend } : likers + [friend]
    return timelines[ownerID].map { moment($0[index], ownerID: ownerID, withLikes: withLikes) }
  }

  private func user(_ id: String) throws(RequestError) -> MomentsDetails.UserDetails {
    if let user = users[id] { return user }
    let ids = users.keys.sorted().joined(separator: ", ")
    throw RequestError(.notFound, "The embedded backend has no user with the id '\(id)', but these: \(ids).")
  }

  private func moment(_ entry: Entry, ownerID: String, withLikes: Bool) -> MomentsDetails.Moment {
    let post = entry.post
    let likers = entry.likerIDs.compactMap { users[$0] }
      .map { MomentsDetails.Moment.Liker(id: $0.id, avatar: $0.avatar) }
    return MomentsDetails.Moment(
      id: post.id, userDetails: post.userDetails, type: post.type, title: post.title, url: post.url,
      photos: post.photos, createdDate: post.createdDate,
      isLiked: withLikes ? entry.likerIDs.contains(ownerID) : nil, likes: withLikes ? likers : nil)
  }
}

extension RequestError.Kind {
  /// There is no user, or no moment, with the id.
  static let notFound = RequestError.Kind("not found")
}

extension EmbeddedState {
  /// Four friends and their recent posts.
  ///
  /// - Parameter now: Unix time in seconds, which the moments' dates count back from.
  static func sample(now: Int64) -> EmbeddedState {
    let (lin, ming, zoe, sofia) = (
      user("0", "Lin Wei"), user("1", "王小明"), user("2", "Zoë Ångström"), user("3", "Sofía Núñez")
    )
    let (minute, hour, day): (Int64, Int64, Int64) = (60, 3_600, 86_400)
    return EmbeddedState(
      users: [lin, ming, zoe, sofia],
      timelines: [
        lin.id: [
          photos("m0-0", by: ming, at: now - 12 * minute, "早安，上海 🌅", ["bund", "tea"], likedBy: [lin, zoe, sofia]),
          link("m0-1", by: zoe, at: now - 5 * hour, "How a stream ends, and why only once", "streams?ref=moments"),
          photos("m0-2", by: sofia, at: now - 3 * day, "Paella para seis 🥘 👩‍👩‍👧‍👦", ["paella"], likedBy: [ming]),
          photos("m0-3", by: ming, at: now - 12 * day, nil, (1...6).map { "west-lake-\($0)" }, likedBy: [lin]),
          link("m0-4", by: lin, at: now - 400 * day, #"First post: "hello" \o/"#, "hello", likedBy: [zoe]),
        ],
        ming.id: [
          photos("m1-0", by: lin, at: now - 45 * minute, "生日快乐 🎂", ["cake", "candles"], likedBy: [ming]),
          link("m1-1", by: ming, at: now - 2 * day, "终端里的中文怎样对齐", "columns"),
        ],
        zoe.id: [
          photos("m2-0", by: zoe, at: now - 20 * day, "Midsommar 🇸🇪", ["maypole"], likedBy: [lin, sofia])
        ],
      ])
  }

  private static func user(_ id: String, _ name: String) -> MomentsDetails.UserDetails {
    let images = "https://img.example.com/users/\(id)"
    return MomentsDetails.UserDetails(
      id: id, name: name, avatar: "\(images)/avatar.png?s=460&v=4", backgroundImage: "\(images)/background.jpg")
  }

  private static func photos(
    _ id: String, by author: MomentsDetails.UserDetails, at created: Int64, _ title: String?, _ names: [String],
    likedBy likers: [MomentsDetails.UserDetails] = []
  ) -> Entry {
    let post = MomentsDetails.Moment(
      id: id, userDetails: .init(name: author.name, avatar: author.avatar), type: .photos, title: title,
      photos: names.map { "https://img.example.com/p/\($0).jpg" }, createdDate: String(created))
    return Entry(post: post, likerIDs: likers.map(\.id))
  }

  private static func link(
    _ id: String, by author: MomentsDetails.UserDetails, at created: Int64, _ title: String?, _ page: String,
    likedBy likers: [MomentsDetails.UserDetails] = []
  ) -> Entry {
    let post = MomentsDetails.Moment(
      id: id, userDetails: .init(name: author.name, avatar: author.avatar), type: .url, title: title,
      url: "https://example.com/articles/\(page)", createdDate: String(created))
    return Entry(post: post, likerIDs: likers.map(\.id))
  }
}
