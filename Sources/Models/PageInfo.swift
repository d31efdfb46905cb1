/// Where a part of a connection begins and ends (Relay Cursor Connections, section 5).
public struct PageInfo: Codable, Hashable, Sendable {
  /// Whether there is more after it.
  public let hasNextPage: Bool

  /// Whether there is more before it.
  public let hasPreviousPage: Bool

  /// The place of its first edge, where it has one.
  public let startCursor: String?

  /// The place of its last edge, where it has one.
  public let endCursor: String?

  /// Makes a place from its fields.
  public init(hasNextPage: Bool, hasPreviousPage: Bool = false, startCursor: String? = nil, endCursor: String? = nil) {
    self.hasNextPage = hasNextPage
    self.hasPreviousPage = hasPreviousPage
    self.startCursor = startCursor
    self.endCursor = endCursor
  }
}
