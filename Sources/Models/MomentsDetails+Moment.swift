extension MomentsDetails {
  /// One entry of a timeline: a link or photos, with an author.
  public struct Moment: Codable, Hashable, Identifiable, Sendable {
    /// Identifies the moment; a number in the server's answer is read as a string.
    public let id: String

    /// Who posted the moment.
    public let userDetails: Author

    /// What the moment shows.
    public let type: MomentType

    /// The text above the moment, where it has one.
    public let title: String?

    /// The address of the page that a moment of the type `url` links to.
    public let url: String?

    /// The addresses of the photos.
    public let photos: [String]

    /// When the moment was posted: Unix time in seconds, as a string.
    public let createdDate: String

    /// Whether the owner of the timeline likes the moment; `nil` where the query left the likes out.
    public let isLiked: Bool?

    /// Who likes the moment, oldest like first; `nil` where the query left the likes out.
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

    /// Reads a moment; the error names the path of what is missing or of another type.
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
