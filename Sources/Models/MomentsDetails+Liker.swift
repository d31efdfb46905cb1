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
