public import StrictJSON

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

extension MomentsConnection: JSONDecodable, JSONEncodable {
  /// Reads a connection. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var edges: [Edge]?
    var pageInfo: PageInfo?
    var totalCount: Int?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "edges") {
        edges = try json.read([Edge].self)
      } else if json.key(is: "pageInfo") {
        pageInfo = try json.read(PageInfo.self)
      } else if json.key(is: "totalCount") {
        totalCount = try json.readInteger()
      } else {
        try json.skipValue()
      }
    }
    self.init(
      edges: try json.require(edges, "edges"), pageInfo: try json.require(pageInfo, "pageInfo"),
      totalCount: try json.require(totalCount, "totalCount"))
  }

  /// Writes the connection.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("edges", edges)
    json.write("pageInfo", pageInfo)
    json.write("totalCount", totalCount)
    json.endObject()
  }
}

extension MomentsConnection.Edge: JSONDecodable, JSONEncodable {
  /// Reads an edge. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var cursor: String?
    var node: MomentsDetails.Moment?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "cursor") {
        cursor = try json.readString()
      } else if json.key(is: "node") {
        node = try json.read(MomentsDetails.Moment.self)
      } else {
        try json.skipValue()
      }
    }
    self.init(cursor: try json.require(cursor, "cursor"), node: try json.require(node, "node"))
  }

  /// Writes the edge.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("cursor", cursor)
    json.write("node", node)
    json.endObject()
  }
}

extension PageInfo: JSONDecodable, JSONEncodable {
  /// Reads a page info. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var hasNextPage: Bool?
    var hasPreviousPage: Bool?
    var startCursor: String?
    var endCursor: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "hasNextPage") {
        hasNextPage = try json.readBool()
      } else if json.key(is: "hasPreviousPage") {
        hasPreviousPage = try json.readBool()
      } else if json.key(is: "startCursor") {
        startCursor = try json.read()
      } else if json.key(is: "endCursor") {
        endCursor = try json.read()
      } else {
        try json.skipValue()
      }
    }
    self.init(
      hasNextPage: try json.require(hasNextPage, "hasNextPage"),
      hasPreviousPage: try json.require(hasPreviousPage, "hasPreviousPage"), startCursor: startCursor,
      endCursor: endCursor)
  }

  /// Writes the page info; members that are `nil` are left out.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("hasNextPage", hasNextPage)
    json.write("hasPreviousPage", hasPreviousPage)
    json.write("startCursor", ifPresent: startCursor)
    json.write("endCursor", ifPresent: endCursor)
    json.endObject()
  }
}
