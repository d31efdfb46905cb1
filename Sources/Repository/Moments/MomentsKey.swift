/// What one answer of the server depends on: timelines with likes and without are kept apart.
public struct MomentsKey: Hashable, Codable, Sendable {
  /// Whose timeline.
  public let userID: String

  /// Whether the likes were asked for.
  public let withLikes: Bool

  /// Makes a key.
  public init(userID: String, withLikes: Bool = true) {
    self.userID = userID
    self.withLikes = withLikes
  }
}
