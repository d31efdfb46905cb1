import Stores

/// A page of a timeline, as the browser gets it.
struct TimelinePage: Codable, Equatable, Sendable {
  static let size = 20

  let owner: String
  let page: Int
  let pageCount: Int
  /// How many seconds ago the BFF sent it.
  let age: Double
  /// Whether the BFF was asked for a newer one, and has not given it.
  let isOffline: Bool
  /// Whether the BFF sends what changes, while the page is followed; `nil` if it is not, or as long as that is not known.
  let isFollowed: Bool?
  let moments: [Moment]

  struct Moment: Codable, Equatable, Sendable {
    let id: String
    let userDetails: Author
    let title, url: String?
    let photos: [String]
    /// Unix time in seconds, as a string.
    let createdDate: String
    /// Whether the owner of the timeline likes it.
    let isLiked: Bool
    /// Those who like it, oldest like first.
    let likes: [Liker]
  }

  struct Author: Codable, Equatable, Sendable {
    let name, avatar: String
  }

  struct Liker: Codable, Equatable, Sendable {
    let id, name: String
  }

  init(_ snapshot: Snapshot<Timeline>, _ page: Int, isFollowed: Bool? = nil) throws {
    let timeline = try snapshot.requireValue()
    owner = timeline.userDetails.name
    self.page = page
    pageCount = (timeline.moments.count + Self.size - 1) / Self.size
    age = snapshot.age / .seconds(1)
    isOffline = !snapshot.errors.isEmpty && !snapshot.isPartial
    self.isFollowed = isFollowed
    let (start, isTooLarge) = (page - 1).multipliedReportingOverflow(by: Self.size)
    moments = isTooLarge ? [] : timeline.moments.dropFirst(start).prefix(Self.size).map(Moment.init)
  }
}

extension TimelinePage.Moment {
  init(_ moment: Timeline.Moments) {
    self.init(
      id: moment.id, userDetails: .init(name: moment.userDetails.name, avatar: moment.userDetails.avatar),
      title: moment.title, url: moment.url, photos: moment.photos, createdDate: moment.createdDate,
      isLiked: moment.isLiked,
      likes: moment.likes.map { TimelinePage.Liker(id: $0.id, name: $0.name) })
  }
}
