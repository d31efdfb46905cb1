extension MomentsDetails {
  /// One entry of a timeline: a link or photos, with an author.
  public struct Moment: Codable, Hashable, Identifiable, Sendable {
    /// Identifies the moment; if the server sends a number, it is read as a string.
    public let id: String

    /// The author of the moment.
    public let userDetails: Author

    /// What the moment shows.
    public let type: MomentType

    /// The text above the moment, if it has one.
    public let title: String?

    /// The address of the page that a moment of the type `url` links to.
    public let url: String?

    /// The addresses of the photos.
    public let photos: [String]

    /// When the moment was posted: Unix time in seconds, as a string.
    public let createdDate: String

    /// Whether the owner of the timeline likes the moment; `nil` if the query did not ask for likes.
    public let isLiked: Bool?

    /// The users who like the moment, oldest like first; `nil` if the query did not ask for likes.
    public let likes: [Liker]?

    /// Makes a moment from its fields.
    public init(
      id: String, userDetails: Author, type: MomentType, title: String? = nil, url: String? = nil,
      photos: [String] = [], createdDate: String, isLiked: Bool? = nil, likes: [Liker]? = nil
    ) {
      self.id = id
      self.userDetails = userDetails
      self.type = type
      self.title = title
      self.url = url
      self.photos = photos
      self.createdDate = createdDate
      self.isLiked = isLiked
      self.likes = likes
    }

    /// Reads a moment. An error names the path of the member that is missing or has the wrong type.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeID(forKey: .id)
      userDetails = try container.decode(Author.self, forKey: .userDetails)
      type = try container.decode(MomentType.self, forKey: .type)
      title = try container.decodeIfPresent(String.self, forKey: .title)
      url = try container.decodeIfPresent(String.self, forKey: .url)
      photos = try container.decode([String].self, forKey: .photos)
      createdDate = try container.decode(String.self, forKey: .createdDate)
      isLiked = try container.decodeIfPresent(Bool.self, forKey: .isLiked)
      likes = try container.decodeIfPresent([Liker].self, forKey: .likes)
    }
  }
}
