extension MomentsDetails.Moment {
  /// Somebody who likes a moment.
  public struct Liker: Codable, Hashable, Sendable {
    /// Identifies the user; a number in the server's answer is read as a string.
    public let id: String

    /// The address of the user's picture.
    public let avatar: String

    /// Makes a liker from its fields.
    public init(id: String, avatar: String) {
      self.id = id
      self.avatar = avatar
    }

    /// Reads a liker; the error names the path of what is missing or of another type.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeID(forKey: .id)
      avatar = try container.decode(String.self, forKey: .avatar)
    }
  }
}
