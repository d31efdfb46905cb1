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

  /// Whether both are of the same bytes: to a server, users are not the same whose ids only look it.
  public static func == (left: MomentsKey, right: MomentsKey) -> Bool {
    left.withLikes == right.withLikes && left.userID.utf8.elementsEqual(right.userID.utf8)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in userID.utf8 { hasher.combine(byte) }
    hasher.combine(withLikes)
  }
}
