public import JSON

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
