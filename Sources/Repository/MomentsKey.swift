/// What a timeline response depends on: timelines with and without likes are cached separately.
public struct MomentsKey: Hashable, Codable, Sendable {
  /// The id of the timeline's user.
  public let userID: String

  /// Whether likes are requested.
  public let withLikes: Bool

  /// Makes a key.
  public init(userID: String, withLikes: Bool = true) {
    self.userID = userID
    self.withLikes = withLikes
  }

  /// Compares the ids by bytes: a server distinguishes users whose ids are canonically equivalent in Unicode.
  public static func == (left: MomentsKey, right: MomentsKey) -> Bool {
    left.withLikes == right.withLikes && left.userID.utf8.elementsEqual(right.userID.utf8)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in userID.utf8 { hasher.combine(byte) }
    hasher.combine(withLikes)
  }
}
