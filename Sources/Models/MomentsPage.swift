public import StrictJSON

/// A part of a timeline, paged by number: `MomentPage` in `schema.graphql`.
public struct MomentsPage: Codable, Hashable, Sendable {
  /// The number of the page; the first is 1.
  public let curPage: Int

  /// How many pages there are.
  public let pageCount: Int

  /// How many moments there are on all pages.
  public let total: Int

  /// The greatest number of moments on a page.
  public let size: Int

  /// Whether this is the last page, or one after it.
  public let over: Bool

  /// The moments, in the server's order.
  public let datas: [MomentsDetails.Moment]

  /// Makes a page from its fields.
  public init(
    curPage: Int, pageCount: Int, total: Int, size: Int, over: Bool, datas: [MomentsDetails.Moment]
  ) {
    self.curPage = curPage
    self.pageCount = pageCount
    self.total = total
    self.size = size
    self.over = over
    self.datas = datas
  }
}

extension MomentsPage: JSONDecodable, JSONEncodable {
  /// Reads a page. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var curPage: Int?
    var pageCount: Int?
    var total: Int?
    var size: Int?
    var over: Bool?
    var datas: [MomentsDetails.Moment]?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "curPage") {
        curPage = try json.readInteger()
      } else if json.key(is: "pageCount") {
        pageCount = try json.readInteger()
      } else if json.key(is: "total") {
        total = try json.readInteger()
      } else if json.key(is: "size") {
        size = try json.readInteger()
      } else if json.key(is: "over") {
        over = try json.readBool()
      } else if json.key(is: "datas") {
        datas = try json.read([MomentsDetails.Moment].self)
      } else {
        try json.skipValue()
      }
    }
    self.init(
      curPage: try json.require(curPage, "curPage"), pageCount: try json.require(pageCount, "pageCount"),
      total: try json.require(total, "total"), size: try json.require(size, "size"),
      over: try json.require(over, "over"), datas: try json.require(datas, "datas"))
  }

  /// Writes the page.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("curPage", curPage)
    json.write("pageCount", pageCount)
    json.write("total", total)
    json.write("size", size)
    json.write("over", over)
    json.write("datas", datas)
    json.endObject()
  }
}
