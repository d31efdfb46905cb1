import GraphQLValues

/// A user and that user's whole timeline, newest moment first.
///
/// `MomentsDetails` in `schema.graphql`, with the fields that the sessions' queries select.
public struct MomentsDetails: Codable, Hashable, Sendable {
  /// The owner of the timeline.
  public let userDetails: UserDetails

  /// The moments on the timeline, in the server's order.
  public let moments: [Moment]

  /// Makes a timeline from its owner and its moments.
  public init(userDetails: UserDetails, moments: [Moment]) {
    self.userDetails = userDetails
    self.moments = moments
  }
}

extension MomentsDetails {
  /// The owner of a timeline.
  public struct UserDetails: Codable, Hashable, Sendable {
    /// Identifies the user; if the server sends a number, it is read as a string.
    public let id: String

    /// The name to show.
    public let name: String

    /// The address of the user's picture.
    public let avatar: String

    /// The address of the picture behind the head of the timeline.
    public let backgroundImage: String

    /// Makes an owner from its fields.
    public init(id: String, name: String, avatar: String, backgroundImage: String) {
      self.id = id
      self.name = name
      self.avatar = avatar
      self.backgroundImage = backgroundImage
    }

    /// Reads an owner. An error names the path of the member that is missing or has the wrong type.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeID(forKey: .id)
      name = try container.decode(String.self, forKey: .name)
      avatar = try container.decode(String.self, forKey: .avatar)
      backgroundImage = try container.decode(String.self, forKey: .backgroundImage)
    }
  }
}

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

    /// Whether the owner of the timeline likes the moment; `nil` if the query did not select likes.
    public let isLiked: Bool?

    /// The users who like the moment, oldest like first; `nil` if the query did not select likes.
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

extension MomentsDetails.Moment {
  /// The author of a moment.
  public struct Author: Codable, Hashable, Sendable {
    /// The name to show.
    public let name: String

    /// The address of the author's picture.
    public let avatar: String

    /// Makes an author from its fields.
    public init(name: String, avatar: String) {
      self.name = name
      self.avatar = avatar
    }
  }
}

extension MomentsDetails.Moment {
  /// A user who likes a moment.
  public struct Liker: Codable, Hashable, Sendable {
    /// Identifies the user; if the server sends a number, it is read as a string.
    public let id: String

    /// The address of the user's picture.
    public let avatar: String

    /// Makes a liker from its fields.
    public init(id: String, avatar: String) {
      self.id = id
      self.avatar = avatar
    }

    /// Reads a liker. An error names the path of the member that is missing or has the wrong type.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeID(forKey: .id)
      avatar = try container.decode(String.self, forKey: .avatar)
    }
  }
}
