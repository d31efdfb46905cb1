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
