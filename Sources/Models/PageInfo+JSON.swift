public import JSON

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
