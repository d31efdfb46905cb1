/// A part of a timeline, paged by cursor: `MomentConnection` in `schema.graphql` (Relay Cursor Connections).
public struct MomentsConnection: Codable, Hashable, Sendable {
  /// A moment and its cursor.
  public struct Edge: Codable, Hashable, Sendable {
    /// The cursor to pass as `after` to get the edges that follow this one.
    public let cursor: String

    /// The moment.
    public let node: MomentsDetails.Moment

    /// Makes an edge from its fields.
    public init(cursor: String, node: MomentsDetails.Moment) {
      self.cursor = cursor
      self.node = node
    }
  }

  /// The moments, in the server's order.
  public let edges: [Edge]

  /// Where this part begins and ends.
  public let pageInfo: PageInfo

  /// How many moments there are on the whole timeline.
  public let totalCount: Int

  /// Makes a connection from its fields.
  public init(edges: [Edge], pageInfo: PageInfo, totalCount: Int) {
    self.edges = edges
    self.pageInfo = pageInfo
    self.totalCount = totalCount
  }
}
