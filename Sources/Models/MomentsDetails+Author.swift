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
