/// Where a part of a connection begins and ends (Relay Cursor Connections, section 5).
public struct PageInfo: Codable, Hashable, Sendable {
  /// Whether there are edges after this part.
  public let hasNextPage: Bool

  /// Whether there are edges before this part.
  public let hasPreviousPage: Bool

  /// The cursor of its first edge, if it has one.
  public let startCursor: String?

  /// The cursor of its last edge, if it has one.
  public let endCursor: String?

  /// Makes a page info from its fields.
  public init(hasNextPage: Bool, hasPreviousPage: Bool = false, startCursor: String? = nil, endCursor: String? = nil) {
    self.hasNextPage = hasNextPage
    self.hasPreviousPage = hasPreviousPage
    self.startCursor = startCursor
    self.endCursor = endCursor
  }
}
